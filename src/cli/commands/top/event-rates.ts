import { type PlegReport } from '#kube/node/pleg-report.js';

/** How many rates are remembered. */
const REMEMBERED = 120;

/** Events of the runtime a second, from one report to the next. */
export class EventRates {
  #before: Pick<PlegReport, 'forMs' | 'events'> | undefined;
  #history: readonly number[] = [];
  #byType: Readonly<Record<string, number>> = {};

  /** All types together, oldest first. */
  get history(): readonly number[] {
    return this.#history;
  }

  /** Of each type that was ever met, between the last two reports; since it began to count, of the first. */
  get byType(): Readonly<Record<string, number>> {
    return this.#byType;
  }

  /** Adds the next report. A report that covers less time than the one before comes from a restarted agent. */
  add({ forMs, events }: Pick<PlegReport, 'forMs' | 'events'>): void {
    const before = this.#before === undefined || forMs < this.#before.forMs ? undefined : this.#before;
    const seconds = (forMs - (before?.forMs ?? 0)) / 1_000;
    if (seconds <= 0) return;
    this.#before = { forMs, events };
    const rates = Object.entries(events).map(([type, count]) => {
      const more = count - (before?.events[type] ?? 0);
      return [type, Math.max(0, more) / seconds] as const;
    });
    this.#byType = Object.fromEntries(rates);
    const all = rates.reduce((sum, [, rate]) => sum + rate, 0);
    this.#history = [...this.#history.slice(1 - REMEMBERED), all];
  }
}
