import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '#watch/messages';
import { type WorldHistory } from './world-history.js';

/** Something that happened to a container or sandbox in a recording. Times are in microseconds since it began. */
export interface ContainerChange {
  readonly what: 'started' | 'died' | 'removed';
  readonly id: string;
  /** Of the container; that of a sandbox is the same as {@link id}. */
  readonly sandboxId: string;
  /** Undefined for a sandbox. */
  readonly container: string | undefined;
  /** How many containers of that name the pod had before. */
  readonly attempt: number;
  /** When it was seen first. */
  readonly at: number;
  /** When it happened, as the runtime says, in nanoseconds since the epoch. */
  readonly occurredAtNs?: bigint;
  readonly exitCode?: number;
  readonly reason?: string;
  /** Whether it was so when the recording began. */
  readonly isInitial: boolean;
}

/** As a replay marks an end that was not recorded. */
const NOT_RECORDED = 'NotRecorded';

/** What is known of a container or a sandbox. */
interface Known {
  readonly change: Pick<ContainerChange, 'id' | 'sandboxId' | 'container' | 'attempt'>;
  isRunning: boolean;
}

/** What happened to containers and sandboxes, in the order in which it was seen. */
export async function findContainerChanges(
  history: WorldHistory,
  signal?: AbortSignal,
): Promise<ContainerChange[]> {
  const search = new ChangeSearch(history);
  for (const at of history.times) {
    signal?.throwIfAborted();
    await search.goTo(at);
  }
  return search.changes;
}

class ChangeSearch {
  readonly changes: ContainerChange[] = [];
  readonly #history: WorldHistory;
  readonly #known = new Map<string, Known>();
  #version = -1;
  #firstAt: number | undefined;

  constructor(history: WorldHistory) {
    this.#history = history;
  }

  async goTo(at: number): Promise<void> {
    const world = await this.#history.at(at);
    if (world.version === this.#version) return;
    this.#version = world.version;
    this.#firstAt ??= at;
    // The world goes on while statuses are read.
    const [sandboxes, containers] = [[...world.sandboxes()], [...world.containers()]];
    const there = new Set([...sandboxes, ...containers].map(({ id }) => id));
    for (const sandbox of sandboxes) this.#compareSandbox(sandbox, at);
    for (const container of containers) await this.#compareContainer(container, at);
    for (const [id, { change, isRunning }] of this.#known) {
      if (there.has(id)) continue;
      this.#known.delete(id);
      if (isRunning) this.#add({ ...change, what: 'died', at });
      this.#add({ ...change, what: 'removed', at });
    }
  }

  #compareSandbox({ id, state, metadata, createdAt }: PodSandbox, at: number): void {
    const isRunning = state === PodSandboxState.SANDBOX_READY;
    const known = this.#known.get(id);
    const change = { id, sandboxId: id, container: undefined, attempt: metadata?.attempt ?? 0 };
    if (known === undefined) {
      this.#known.set(id, { change, isRunning });
      this.#add({ ...change, what: 'started', at, ...occurred(createdAt) });
      if (!isRunning) this.#add({ ...change, what: 'died', at });
    } else if (known.isRunning !== isRunning) {
      known.isRunning = isRunning;
      this.#add({ ...change, what: isRunning ? 'started' : 'died', at });
    }
  }

  async #compareContainer(item: Container, at: number): Promise<void> {
    const { id, podSandboxId: sandboxId, metadata } = item;
    const isRunning = item.state === ContainerState.CONTAINER_RUNNING;
    const isOver = item.state === ContainerState.CONTAINER_EXITED;
    const known = this.#known.get(id);
    if (known !== undefined && known.isRunning === isRunning) return;
    // One that is created or unknown has not begun, or may still run.
    if (!isRunning && !isOver) return;
    const change = { id, sandboxId, container: metadata?.name ?? '', attempt: metadata?.attempt ?? 0 };
    this.#known.set(id, { change, isRunning });
    const { status } = (await this.#history.findContainerStatus(id, at)) ?? {};
    if (known?.isRunning !== true)
      this.#add({ ...change, what: 'started', at, ...occurred(status?.startedAt) });
    if (!isOver) return;
    const { exitCode, reason = '', finishedAt } = status ?? {};
    const isKnown = exitCode !== undefined && reason !== NOT_RECORDED;
    this.#add({
      ...{ ...change, what: 'died', at, ...occurred(finishedAt) },
      ...(isKnown ? { exitCode } : {}),
      ...(isKnown && reason !== '' ? { reason } : {}),
    });
  }

  #add(change: Omit<ContainerChange, 'isInitial'>): void {
    this.changes.push({ ...change, isInitial: change.at === this.#firstAt });
  }
}

function occurred(ns: bigint | undefined): { occurredAtNs?: bigint } {
  return ns === undefined || ns <= 0n ? {} : { occurredAtNs: ns };
}
