/**
 * Checks whether a hostPath that pods wait for has appeared on the node, or has become what its type says.
 *
 * In: pods whose volumes could not be set up. Out: a notification that a pod can be retried at once. Pods are
 * retried anyway, with the delay of any failed sync: this only helps with a file that comes within a second.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { Wakeup } from '#base/async/wakeup.js';

/** What a {@link WaitingVolumes} needs. */
export interface WaitingVolumesOptions {
  readonly clock: Clock;
  /** The pod can be synced again. */
  readonly onReady: (podUid: string) => void;
}

/** Whether a volume is available now; cheap. */
export type VolumeCheck = () => Promise<boolean>;

const PERIOD_MS = 1_000;

/** See the module. */
export class WaitingVolumes {
  readonly #options: WaitingVolumesOptions;
  readonly #checks = new Map<string, readonly VolumeCheck[]>();
  readonly #wakeup = new Wakeup();

  constructor(options: WaitingVolumesOptions) {
    this.#options = options;
  }

  /** The pod now waits for exactly these volumes, or for none. */
  set(podUid: string, checks: readonly VolumeCheck[]): void {
    if (checks.length === 0) this.#checks.delete(podUid);
    else {
      this.#checks.set(podUid, checks);
      this.#wakeup.wake();
    }
  }

  /** Checks repeatedly until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      // Usually no pod waits.
      if (this.#checks.size === 0) await this.#wakeup.wait(clock, undefined, signal).catch(() => undefined);
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
      await Promise.all([...this.#checks].map(([uid, checks]) => this.#check(uid, checks)));
    }
  }

  async #check(uid: string, checks: readonly VolumeCheck[]): Promise<void> {
    const found = await Promise.all(checks.map((check) => check().catch(() => false)));
    // The pod may have been retried meanwhile.
    if (!found.every(Boolean) || this.#checks.get(uid) !== checks) return;
    this.#checks.delete(uid);
    this.#options.onReady(uid);
  }
}
