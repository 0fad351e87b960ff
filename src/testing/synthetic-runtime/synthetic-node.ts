import { type PodFacts } from './synthetic-messages.js';
import { toHexId, toPodIdentity } from './kubelet-metadata.js';
import {
  type AddPodsOptions,
  type ContainerSelection,
  type KillOptions,
  type MadeUpEvent,
  type SyntheticContainer,
} from './synthetic-control.js';

/** Something happened to a container or a sandbox: what the runtime's event stream will say. */
export interface NodeChange {
  readonly type: MadeUpEvent['type'];
  /** Of a container or of a sandbox. */
  readonly id: string;
  readonly podUid: string;
}

/** What {@link SyntheticNode} is made with. */
export interface SyntheticNodeOptions {
  /** Decides every id and name. */
  readonly seed: string;
  /** Nanoseconds since the epoch. */
  readonly nowNs: () => bigint;
  /** Called after each change is visible. */
  readonly onChange: (change: NodeChange) => void;
}

/**
 * The pods of a synthetic runtime, in memory.
 *
 * Pods and containers are immutable and replaced when something in them changes, so that whatever was computed
 * from one stays right for as long as it is the same object.
 */
export class SyntheticNode {
  readonly #options: SyntheticNodeOptions;
  readonly #pods = new Map<string, PodFacts>();
  /** Pod uid by the id of a container or a sandbox. */
  readonly #podOfId = new Map<string, string>();
  #podsMade = 0;
  #containersMade = 0;
  #revision = 0;

  constructor(options: SyntheticNodeOptions) {
    this.#options = options;
  }

  /** Another number after every change. */
  get revision(): number {
    return this.#revision;
  }

  pods(): Iterable<PodFacts> {
    return this.#pods.values();
  }

  findPod(uid: string): PodFacts | undefined {
    return this.#pods.get(uid);
  }

  /** The pod that a container's or sandbox's id belongs to. */
  findPodOf(id: string): PodFacts | undefined {
    const uid = this.#podOfId.get(id);
    return uid === undefined ? undefined : this.#pods.get(uid);
  }

  addPods(options: AddPodsOptions): PodFacts[] {
    const added: PodFacts[] = [];
    for (let i = 0; i < options.count; i++) {
      const identity = toPodIdentity(this.#options.seed, this.#podsMade++);
      const sandboxId = toHexId(`${this.#options.seed}/sandbox/${identity.uid}`);
      const createdAtNs = this.#options.nowNs();
      this.#podOfId.set(sandboxId, identity.uid);
      this.#put({ ...identity, sandboxId, sandboxReady: true, createdAtNs, containers: [] });
      this.#changed('created', sandboxId, identity.uid);
      this.#changed('started', sandboxId, identity.uid);
      for (let c = 0; c < options.containersPerPod; c++) {
        this.#addContainer(identity.uid, `container-${c}`, 0, options.state ?? 'running');
      }
      added.push(this.#pods.get(identity.uid)!);
    }
    return added;
  }

  kill(selection: ContainerSelection, options?: KillOptions): SyntheticContainer[] {
    return this.#select(selection, (container) => container.state === 'running').map((container) =>
      this.#end(container, options),
    );
  }

  start(selection: ContainerSelection): SyntheticContainer[] {
    return this.#select(selection, (container) => container.state === 'created').map((container) => {
      const started = this.#replace(container, { state: 'running', startedAtNs: this.#options.nowNs() });
      this.#changed('started', container.id, container.podUid);
      return started;
    });
  }

  restart(selection: ContainerSelection): SyntheticContainer[] {
    return this.#select(selection, (container) => container.state === 'exited').map((container) =>
      this.#addContainer(container.podUid, container.name, container.attempt + 1, 'running'),
    );
  }

  remove(selection: ContainerSelection): SyntheticContainer[] {
    return this.#select(selection, () => true).map((container) => {
      const ended = container.state === 'running' ? this.#end(container) : container;
      this.#forgetContainer(ended);
      return ended;
    });
  }

  stopPods(uids: readonly string[]): void {
    for (const uid of uids) {
      this.kill({ podUids: [uid] });
      const pod = this.#pods.get(uid);
      if (pod?.sandboxReady !== true) continue;
      this.#put({ ...pod, sandboxReady: false });
      this.#changed('stopped', pod.sandboxId, uid);
    }
  }

  removePods(uids: readonly string[]): void {
    this.stopPods(uids);
    for (const uid of uids) {
      this.remove({ podUids: [uid] });
      const pod = this.#pods.get(uid);
      if (pod === undefined) continue;
      this.#pods.delete(uid);
      this.#podOfId.delete(pod.sandboxId);
      this.#revision++;
      this.#changed('deleted', pod.sandboxId, uid);
    }
  }

  #select(
    selection: ContainerSelection,
    qualifies: (container: SyntheticContainer) => boolean,
  ): SyntheticContainer[] {
    const ids = selection.containerIds === undefined ? undefined : new Set(selection.containerIds);
    const uids = selection.podUids ?? selection.containerIds?.map((id) => this.#podOfId.get(id) ?? '');
    const selected: SyntheticContainer[] = [];
    for (const uid of uids === undefined ? this.#pods.keys() : new Set(uids)) {
      for (const container of this.#pods.get(uid)?.containers ?? []) {
        if (selected.length === selection.count) return selected;
        if (qualifies(container) && (ids === undefined || ids.has(container.id))) selected.push(container);
      }
    }
    return selected;
  }

  #addContainer(
    podUid: string,
    name: string,
    attempt: number,
    state: SyntheticContainer['state'],
  ): SyntheticContainer {
    const pod = this.#pods.get(podUid)!;
    const id = toHexId(`${this.#options.seed}/container/${this.#containersMade++}`);
    const now = this.#options.nowNs();
    const container: SyntheticContainer = {
      id,
      name,
      attempt,
      podUid,
      sandboxId: pod.sandboxId,
      state: state === 'created' ? 'created' : 'running',
      createdAtNs: now,
      startedAtNs: state === 'created' ? 0n : now,
      finishedAtNs: 0n,
      exitCode: 0,
      reason: '',
    };
    this.#podOfId.set(id, podUid);
    this.#put({ ...pod, containers: [...pod.containers, container] });
    this.#changed('created', id, podUid);
    if (state !== 'created') this.#changed('started', id, podUid);
    return state === 'exited' ? this.#end(container, { exitCode: 0 }) : container;
  }

  #end(container: SyntheticContainer, { exitCode = 137, reason }: KillOptions = {}): SyntheticContainer {
    const ended = this.#replace(container, {
      state: 'exited',
      exitCode,
      reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
      finishedAtNs: this.#options.nowNs(),
    });
    this.#changed('stopped', container.id, container.podUid);
    return ended;
  }

  #replace(container: SyntheticContainer, change: Partial<SyntheticContainer>): SyntheticContainer {
    const pod = this.#pods.get(container.podUid)!;
    const next = { ...container, ...change };
    this.#put({
      ...pod,
      containers: pod.containers.map((other) => (other.id === container.id ? next : other)),
    });
    return next;
  }

  #forgetContainer(container: SyntheticContainer): void {
    const pod = this.#pods.get(container.podUid)!;
    this.#podOfId.delete(container.id);
    this.#put({ ...pod, containers: pod.containers.filter((other) => other.id !== container.id) });
    this.#changed('deleted', container.id, container.podUid);
  }

  #put(pod: PodFacts): void {
    this.#pods.set(pod.uid, pod);
    this.#revision++;
  }

  #changed(type: NodeChange['type'], id: string, podUid: string): void {
    this.#options.onChange({ type, id, podUid });
  }
}
