import { type Clock } from '#base/time/clock.js';
import { UsageRates } from '#base/proc/usage/usage-rates.js';

/** CPU usage since an earlier call, for sources that only count CPU time. */
export class CpuWindows {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #rates = new UsageRates();

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonicMs'> }) {
    this.#clock = clock;
  }

  /**
   * Nanoseconds of CPU time per second; undefined in the first second of calls for something of unknown age.
   *
   * @param ageMs for how long it has counted.
   */
  rate(key: string, totalNs: number, ageMs: number | undefined): number | undefined {
    const rate = this.#rates.compute(key, BigInt(Math.round(totalNs)), this.#clock.monotonicMs(), ageMs);
    return rate === undefined ? undefined : Number(rate);
  }
}
