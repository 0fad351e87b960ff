import { type Channels } from '#base/channels/publishing-channel.js';
import { type ReportedRelist } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';

/** How many relists are remembered. */
export const REMEMBERED_RELISTS = 60;

/** The last relists of all pods, successful or not. */
export class RelistHistory implements Disposable {
  readonly #clock: Clock;
  readonly #forget: () => void;
  #relists: readonly ReportedRelist[] = [];
  /** Monotonic milliseconds, as the wall clock can jump. */
  #lastStartedMs: number | undefined;

  constructor({ clock, channels }: { readonly clock: Clock; readonly channels: Channels }) {
    this.#clock = clock;
    this.#forget = channels.subscribe(relistEnded, (relist) => {
      if (relist.scope === 'all') this.#add(relist);
    });
  }

  /** Oldest first. */
  list(): readonly ReportedRelist[] {
    return this.#relists;
  }

  [Symbol.dispose](): void {
    this.#forget();
  }

  #add({ startedAtMs, trigger, durationMs, listMs, diffMs, pods, due, error }: RelistEnd): void {
    const startedMs = this.#clock.monotonicMs() - durationMs;
    const relist: ReportedRelist = {
      ...{ startedAtMs, trigger, durationMs, listMs, diffMs, pods, due },
      inspectMs: Math.max(0, durationMs - listMs - diffMs),
      ...(this.#lastStartedMs === undefined ? {} : { intervalMs: startedMs - this.#lastStartedMs }),
      ...(error === undefined ? {} : { error }),
    };
    this.#lastStartedMs = startedMs;
    this.#relists = [...this.#relists.slice(1 - REMEMBERED_RELISTS), relist];
  }
}
