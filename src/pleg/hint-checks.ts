import { type ObservedPod, type RuntimeEvent } from '../runtime/runtime.js';
import { type Clock } from '../util/clock.js';

/** Delays between looks while the list does not show yet what an event said, in milliseconds. */
const RECHECK_DELAYS_MS = [20, 50, 100, 250, 500, 1_000];
/** Events kept for checking at a time; more are not checked, the period covers them. */
const CHECK_LIMIT = 4_096;

interface Check {
  readonly type: RuntimeEvent['type'];
  tries: number;
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
  readonly #byUid = new Map<string, Map<string, Check>>();
  #size = 0;
  #contradicted = 0;

  constructor(options: { clock: Clock; lookAgain: (uid: string) => void }) {
    this.#clock = options.clock;
    this.#lookAgain = options.lookAgain;
  }

  /** Events that no look confirmed in the end. */
  get contradicted(): number {
    return this.#contradicted;
  }

  /** Events that are still held against looks. */
  get size(): number {
    return this.#size;
  }

  /** An event of this pod arrived; a look was asked for. */
  expect(uid: string, event: RuntimeEvent): void {
    if (event.type === 'unknown' || event.type === 'created') return;
    let checks = this.#byUid.get(uid);
    if (checks === undefined) {
      if (this.#size >= CHECK_LIMIT) return;
      this.#byUid.set(uid, (checks = new Map<string, Check>()));
    }
    // A later event of the same container makes the earlier one history.
    if (!checks.has(event.containerId)) this.#size++;
    checks.set(event.containerId, { type: event.type, tries: 0 });
  }

  /** A look showed the pod, or that it is gone. */
  compare(uid: string, pod: ObservedPod | undefined): void {
    const checks = this.#byUid.get(uid);
    if (checks === undefined) return;
    let retryMs: number | undefined;
    for (const [containerId, check] of checks) {
      const delayMs = shows(pod, containerId, check.type) ? undefined : RECHECK_DELAYS_MS[check.tries++];
      if (delayMs !== undefined) {
        retryMs = Math.min(retryMs ?? delayMs, delayMs);
        continue;
      }
      if (check.tries > RECHECK_DELAYS_MS.length) this.#contradicted++;
      checks.delete(containerId);
      this.#size--;
    }
    if (checks.size === 0) this.#byUid.delete(uid);
    if (retryMs !== undefined) this.#clock.setTimer(retryMs, () => this.#lookAgain(uid), { unref: true });
  }

  /** The stream is gone; a relist follows anyway. */
  clear(): void {
    this.#byUid.clear();
    this.#size = 0;
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
