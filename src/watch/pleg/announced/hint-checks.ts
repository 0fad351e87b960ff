import { type ObservedPod, type RuntimeEvent } from '../../observed/runtime.js';
import { type Clock, type ClockTimer, type Stamp } from '#base/time/clock.js';

/** When to look again while the list does not show yet what an event said, in milliseconds after the event. */
const RECHECK_AT_MS = [20, 70, 170, 420, 920, 1_920];
/** A look that begins so long after an event, in milliseconds, is the last for its sake. */
export const CHECKED_FOR_MS = RECHECK_AT_MS.at(-1)!;
/** Events kept for checking at a time; more are not checked, the period covers them. */
const CHECK_LIMIT = 4_096;

interface Check {
  readonly type: RuntimeEvent['type'];
  readonly heardMs: number;
  /** The same, to be held against looks. */
  readonly stamp: Stamp;
}

/**
 * Holds each event against the look that it caused.
 *
 * A runtime may tell of a death before its own list shows it. The event is no proof, so the answer is to look
 * again soon, a few times, and then to leave it to the period.
 */
export class HintChecks {
  readonly #clock: Clock;
  readonly #lookAgain: (uid: string) => void;
  readonly #onDoubt: () => void;
  readonly #byUid = new Map<string, Map<string, Check>>();
  /** The next look again at each pod, of which there is one at a time. */
  readonly #timers = new Map<string, ClockTimer>();
  #size = 0;
  #contradicted = 0;

  /** `onDoubt` is called when an event is left to the period: no look confirmed it, or it is not checked at all. */
  constructor(options: { clock: Clock; lookAgain: (uid: string) => void; onDoubt: () => void }) {
    this.#clock = options.clock;
    this.#lookAgain = options.lookAgain;
    this.#onDoubt = options.onDoubt;
  }

  /** Events that no look confirmed in the end. */
  get contradicted(): number {
    return this.#contradicted;
  }

  /** Events that are still held against looks. */
  get size(): number {
    return this.#size;
  }

  /** Whether the next look at this pod is to be compared, even if it shows what the one before did. */
  has(uid: string): boolean {
    return this.#byUid.has(uid);
  }

  /** An event of this pod arrived; a look was asked for. */
  expect(uid: string, event: RuntimeEvent): void {
    if (event.type === 'unknown' || event.type === 'created') return;
    let checks = this.#byUid.get(uid);
    // A later event of the same container makes the earlier one history.
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

  /** A look showed the pod, or that it is gone. */
  compare(uid: string, pod: ObservedPod | undefined): void {
    const checks = this.#byUid.get(uid);
    if (checks === undefined) return;
    const now = this.#clock.monotonicMs();
    let retryMs: number | undefined;
    let doubtful = false;
    for (const [containerId, { type, heardMs }] of checks) {
      const shown = shows(pod, containerId, type);
      // By time, not by number of looks: others may have asked for many within the same moment.
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
   * A look at all pods, with this stamp, has shown those of which `isThere` is true. The others are gone, or came and
   * went unseen: no look will show them.
   */
  compareAbsent(stamp: Stamp, isThere: (uid: string) => boolean): void {
    for (const [uid, checks] of this.#byUid) {
      if (isThere(uid)) continue;
      // An event that came later may be of a pod that is newer than the look.
      const hasLater = [...checks.values()].some((check) => check.stamp >= stamp);
      if (!hasLater) this.compare(uid, undefined);
    }
  }

  /** The stream is gone; a relist follows anyway. */
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
