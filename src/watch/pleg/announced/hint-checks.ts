import { type ObservedPod, type RuntimeEvent } from '../../observed/runtime.js';
import { type Clock, type ClockTimer, type Stamp } from '#base/time/clock.js';

/**
 * When to list again while the list does not show yet what an event said, in milliseconds after the event.
 */
const RECHECK_AT_MS = [20, 70, 170, 420, 920, 1_920];
/** A list that begins this long after an event, in milliseconds, is the last one on its account. */
export const CHECKED_FOR_MS = RECHECK_AT_MS.at(-1)!;
/** Upper limit of events that are checked at a time; the relist period covers any others. */
const CHECK_LIMIT = 4_096;

interface Check {
  readonly type: RuntimeEvent['type'];
  readonly heardMs: number;
  /** The same moment, for comparison with lists. */
  readonly stamp: Stamp;
}

/**
 * Checks each event against the list that it triggered.
 *
 * A runtime may announce a death before its own list shows it. The event is no proof, so the pod is listed
 * again soon, a few times, and then left to the relist period.
 */
export class HintChecks {
  readonly #clock: Clock;
  readonly #lookAgain: (uid: string) => void;
  readonly #onDoubt: () => void;
  readonly #byUid = new Map<string, Map<string, Check>>();
  /** The timer of the next list of each pod; one at a time. */
  readonly #timers = new Map<string, ClockTimer>();
  #size = 0;
  #contradicted = 0;

  /**
   * `onDoubt` is called when an event is left to the period: no list confirmed it, or it is not checked at
   * all.
   */
  constructor(options: { clock: Clock; lookAgain: (uid: string) => void; onDoubt: () => void }) {
    this.#clock = options.clock;
    this.#lookAgain = options.lookAgain;
    this.#onDoubt = options.onDoubt;
  }

  /** How many events no list confirmed. */
  get contradicted(): number {
    return this.#contradicted;
  }

  /** How many events are being checked. */
  get size(): number {
    return this.#size;
  }

  /** Whether the next list of this pod must be compared even if it equals the one before. */
  has(uid: string): boolean {
    return this.#byUid.has(uid);
  }

  /** Notes an event of this pod, for which a list was requested. */
  expect(uid: string, event: RuntimeEvent): void {
    if (event.type === 'unknown' || event.type === 'created') return;
    let checks = this.#byUid.get(uid);
    // A later event of the same container makes the earlier one obsolete.
    if (checks?.has(event.containerId) !== true) {
      if (this.#size >= CHECK_LIMIT) {
        this.#onDoubt();
        return;
      }
      this.#size++;
    }
    if (checks === undefined) this.#byUid.set(uid, (checks = new Map<string, Check>()));
    checks.set(event.containerId, {
      type: event.type,
      heardMs: this.#clock.monotonicMs(),
      stamp: this.#clock.stamp(),
    });
  }

  /** Compares the events with a list that showed the pod, or that it is gone. */
  compare(uid: string, pod: ObservedPod | undefined): void {
    const checks = this.#byUid.get(uid);
    if (checks === undefined) return;
    const now = this.#clock.monotonicMs();
    let retryMs: number | undefined;
    let doubtful = false;
    for (const [containerId, { type, heardMs }] of checks) {
      const shown = shows(pod, containerId, type);
      // By time, not by number of lists: others may have requested many within the same moment.
      const nextAtMs = shown ? undefined : RECHECK_AT_MS.find((atMs) => heardMs + atMs > now);
      if (nextAtMs !== undefined) {
        retryMs = Math.min(retryMs ?? Infinity, heardMs + nextAtMs - now);
        continue;
      }
      if (!shown) {
        this.#contradicted++;
        doubtful = true;
      }
      checks.delete(containerId);
      this.#size--;
    }
    this.#timers.get(uid)?.cancel();
    this.#timers.delete(uid);
    if (checks.size === 0) this.#byUid.delete(uid);
    if (retryMs !== undefined) this.#lookAgainIn(retryMs, uid);
    if (doubtful) this.#onDoubt();
  }

  /**
   * Compares the events with a relist, by its stamp, that showed the pods for which `isThere` is true.
   *
   * The others are gone, or came and went unseen: no list will show them.
   */
  compareAbsent(stamp: Stamp, isThere: (uid: string) => boolean): void {
    for (const [uid, checks] of this.#byUid) {
      if (isThere(uid)) continue;
      // A later event may be of a pod that is newer than the list.
      const hasLater = [...checks.values()].some((check) => check.stamp >= stamp);
      if (!hasLater) this.compare(uid, undefined);
    }
  }

  /** Drops all checks when the stream is gone; a relist follows anyway. */
  clear(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#byUid.clear();
    this.#size = 0;
  }

  #lookAgainIn(delayMs: number, uid: string): void {
    const again = (): void => {
      this.#timers.delete(uid);
      this.#lookAgain(uid);
    };
    this.#timers.set(uid, this.#clock.setTimer(delayMs, again, { unref: true }));
  }
}

function shows(pod: ObservedPod | undefined, containerId: string, type: RuntimeEvent['type']): boolean {
  if (pod === undefined) return true;
  const container =
    pod.containers.find((candidate) => candidate.id === containerId) ??
    pod.sandboxes.find((candidate) => candidate.id === containerId);
  switch (type) {
    case 'started':
      return container === undefined || container.state !== 'created';
    case 'stopped':
      return container?.state !== 'running';
    case 'deleted':
      return container === undefined;
    case 'created':
    case 'unknown':
      return true;
  }
}
