import { randomBytes } from 'node:crypto';
import { cri } from '../../../src/watch/cri/index.js';

/** A sandbox of a {@link MemoryPods}. */
export interface MemorySandbox {
  readonly id: string;
  readonly config: cri.PodSandboxConfig;
  readonly createdAt: bigint;
  readonly ip: string;
  state: cri.PodSandboxState;
}

/** A container of a {@link MemoryPods}. */
export interface MemoryContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: cri.ContainerConfig;
  readonly createdAt: bigint;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  state: cri.ContainerState;
}

const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = cri.ContainerState;
const { CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT, CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT } =
  cri.ContainerEventType;

/** Sandboxes and containers that exist only in memory, and what is wrong with what was asked for. */
export class MemoryPods {
  readonly sandboxes = new Map<string, MemorySandbox>();
  readonly containers = new Map<string, MemoryContainer>();
  /** A second running container of a name in one pod: what must never be. */
  readonly ranTwice: string[] = [];
  /** Containers that were told to stop while they ran. */
  readonly stopped: string[] = [];
  readonly #tell: (type: cri.ContainerEventType, id: string, sandboxId: string) => void;
  #made = 0;
  #lastNs = 0n;

  constructor(tell: (type: cri.ContainerEventType, id: string, sandboxId: string) => void) {
    this.#tell = tell;
  }

  runSandbox(config: cri.PodSandboxConfig): string {
    const number = ++this.#made;
    const id = newId();
    const ip = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
    const state = cri.PodSandboxState.SANDBOX_READY;
    this.sandboxes.set(id, { id, config, createdAt: this.#nowNs(), ip, state });
    this.#tell(CONTAINER_CREATED_EVENT, id, id);
    this.#tell(CONTAINER_STARTED_EVENT, id, id);
    return id;
  }

  stopSandbox(id: string): void {
    const sandbox = this.sandboxes.get(id);
    if (sandbox?.state !== cri.PodSandboxState.SANDBOX_READY) return;
    for (const container of this.containersOf(id)) this.end(container.id, 137);
    sandbox.state = cri.PodSandboxState.SANDBOX_NOTREADY;
    this.#tell(CONTAINER_STOPPED_EVENT, id, id);
  }

  removeSandbox(id: string): void {
    this.stopSandbox(id);
    for (const container of this.containersOf(id)) this.removeContainer(container.id);
    if (this.sandboxes.delete(id)) this.#tell(CONTAINER_DELETED_EVENT, id, id);
  }

  create(sandboxId: string, config: cri.ContainerConfig): string {
    const id = newId();
    const times = { createdAt: this.#nowNs(), startedAt: 0n, finishedAt: 0n };
    this.containers.set(id, { id, sandboxId, config, ...times, exitCode: 0, state: CONTAINER_CREATED });
    this.#tell(CONTAINER_CREATED_EVENT, id, sandboxId);
    return id;
  }

  start(id: string): void {
    const container = this.containers.get(id)!;
    const twin = this.containersOf(container.sandboxId).find(
      (other) => other.state === CONTAINER_RUNNING && nameOf(other) === nameOf(container),
    );
    if (twin !== undefined) this.ranTwice.push(`${nameOf(container)} in ${container.sandboxId}`);
    container.state = CONTAINER_RUNNING;
    container.startedAt = this.#nowNs();
    this.#tell(CONTAINER_STARTED_EVENT, id, container.sandboxId);
  }

  stop(id: string): void {
    if (this.containers.get(id)?.state !== CONTAINER_RUNNING) return;
    this.stopped.push(id);
    this.end(id, 143);
  }

  /** Its program ends by itself. */
  end(id: string, exitCode: number): void {
    const container = this.containers.get(id);
    if (container === undefined || container.state === CONTAINER_EXITED) return;
    container.state = CONTAINER_EXITED;
    container.exitCode = exitCode;
    container.finishedAt = this.#nowNs();
    this.#tell(CONTAINER_STOPPED_EVENT, id, container.sandboxId);
  }

  removeContainer(id: string): void {
    const container = this.containers.get(id);
    if (container === undefined) return;
    this.end(id, 137);
    this.containers.delete(id);
    this.#tell(CONTAINER_DELETED_EVENT, id, container.sandboxId);
  }

  /**
   * Puts so many containers before a running one that ended and were restarted, as a crash loop leaves them. The running
   * one becomes the last of the row, under another id.
   */
  addPast(id: string, count: number): string {
    const { sandboxId, config } = this.containers.get(id)!;
    this.containers.delete(id);
    let last = '';
    for (let attempt = 0; attempt <= count; attempt++) {
      const annotations = { ...config.annotations, 'io.kubernetes.container.restartCount': String(attempt) };
      const metadata = { name: nameOf({ config }), attempt };
      last = this.create(sandboxId, { ...config, metadata, annotations });
      this.start(last);
      if (attempt < count) this.end(last, 1);
    }
    return last;
  }

  containersOf(sandboxId: string): MemoryContainer[] {
    return [...this.containers.values()].filter((each) => each.sandboxId === sandboxId);
  }

  running(): MemoryContainer[] {
    return [...this.containers.values()].filter(({ state }) => state === CONTAINER_RUNNING);
  }

  exited(): MemoryContainer[] {
    return [...this.containers.values()].filter(({ state }) => state === CONTAINER_EXITED);
  }

  /** Never the same twice: runtimes order by it. */
  #nowNs(): bigint {
    const now = BigInt(Date.now()) * 1_000_000n;
    this.#lastNs = now > this.#lastNs ? now : this.#lastNs + 1n;
    return this.#lastNs;
  }
}

function newId(): string {
  return randomBytes(32).toString('hex');
}

function nameOf({ config }: Pick<MemoryContainer, 'config'>): string {
  return config.metadata?.name ?? '';
}
