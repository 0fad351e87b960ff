import { type PodRef } from '#kube/pod/pod-ref.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Clock } from '#base/time/clock.js';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';
import { hasCode, messageOf } from '#base/errors/errors.js';
import { type EventFacts } from './runtime-facts.js';
import { type ListedContainer, type ListedSandbox, type RuntimePort } from '../runtime-port.js';

/** A stream is not there yet when it was asked for: Go's servers say nothing before the first event. */
const SETTLE_MS = 300;
/** An event may come after the list that shows the same change. */
const GRACE_MS = 1_500;
const GRACE_LOOK_MS = 50;
const MAX_NAMED = 10;
/** Ids that are remembered; more happen on no node in the time of an examination. */
const MAX_IDS = 100_000;

/** Sandboxes and containers, as listed at one time. */
export interface ListedNode {
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly ListedContainer[];
}

/** Reads a runtime's events beside other readers, and reports changes that came without an event. */
export class EventWitness {
  readonly #clock: Clock;
  readonly #announced = new Set<string>();
  #stop = linkAbort(undefined);
  readonly #startedMs: number;
  #received = 0;
  #isSupported = true;
  #ended: string | undefined;
  #stream: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** Opens the stream; resolves once later changes should come as events. Reads until {@link testify}. */
  async open(runtime: RuntimePort, signal: AbortSignal): Promise<void> {
    const onEvent = (containerId: string): void => {
      this.#received++;
      if (this.#announced.size < MAX_IDS) this.#announced.add(containerId);
    };
    this.#stop = linkAbort(signal);
    const { signal: stop } = this.#stop;
    this.#stream = runtime.readEvents(onEvent, stop).then(
      () => void (this.#ended ??= 'the runtime ended the stream'),
      (error: unknown) => {
        if (stop.aborted) return;
        this.#isSupported = !hasCode(error, 'CRI_UNIMPLEMENTED');
        this.#ended ??= messageOf(error);
      },
    );
    await this.#clock.sleep(SETTLE_MS, signal);
  }

  /** Closes the stream and compares its events with what changed between two lists. */
  async testify(before: ListedNode, after: ListedNode, signal: AbortSignal): Promise<EventFacts> {
    const changed = findChanges(before, after);
    const silent = (): typeof changed => changed.filter(({ id }) => !this.#announced.has(id));
    const untilMs = this.#clock.monotonicMs() + GRACE_MS;
    while (silent().length > 0 && this.#ended === undefined && this.#clock.monotonicMs() < untilMs) {
      await this.#clock.sleep(GRACE_LOOK_MS, signal);
    }
    const watchedMs = this.#clock.monotonicMs() - this.#startedMs;
    await this.close();
    const missed = silent();
    return {
      ...{ isSupported: this.#isSupported, watchedMs, received: this.#received, changed: changed.length },
      missed: missed.slice(0, MAX_NAMED),
      missedCount: missed.length,
      ...(this.#ended === undefined ? {} : { ended: this.#ended }),
    };
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#stream;
    this.#stop.unlink();
  }
}

/** Containers that came, went, or have another state. Pure. */
export function findChanges(
  before: ListedNode,
  after: ListedNode,
): { readonly pod: PodRef; readonly container: string; readonly id: string }[] {
  const pods = new Map(
    [...before.sandboxes, ...after.sandboxes].map(({ id, pod }): [string, PodRef] => [id, pod]),
  );
  const statesBefore = new Map(before.containers.map(({ id, state }) => [id, state]));
  const idsAfter = new Set(after.containers.map(({ id }) => id));
  return [
    ...after.containers.filter(({ id, state }) => statesBefore.get(id) !== state),
    ...before.containers.filter(({ id }) => !idsAfter.has(id)),
  ].map(({ id, name, sandboxId }) => ({
    pod: pods.get(sandboxId) ?? { uid: sandboxId, namespace: '', name: '' },
    container: name,
    id,
  }));
}

/**
 * Whether every reader of this runtime's event stream gets every event, so that one more takes nothing from anybody.
 * containerd has it so since 2.0; before, all readers share one channel.
 */
export function sendsToEveryReader(name: string, version: string): boolean | undefined {
  if (name === EMBEDDED_RUNTIME_NAME) return true;
  if (name !== 'containerd') return undefined;
  const major = /^v?(\d+)\./.exec(version)?.[1];
  return major === undefined ? undefined : Number(major) >= 2;
}
