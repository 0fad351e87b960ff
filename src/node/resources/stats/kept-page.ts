import { type Clock } from '#base/time/clock.js';

/** What {@link KeptPage} needs. */
export interface KeptPageOptions<Page> {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly keepMs: number;
  readonly make: (signal: AbortSignal) => Promise<Page>;
}

/** A page that is dear to make: for a while after it was made it serves those who ask. One that failed is not kept. */
export class KeptPage<Page> {
  readonly #options: KeptPageOptions<Page>;
  #last: { readonly page: Page; readonly madeAtMs: number } | undefined;

  constructor(options: KeptPageOptions<Page>) {
    this.#options = options;
  }

  /** The kept one, else one that is made now. Whoever asks sees to it that not many ask at the same time. */
  async get(signal: AbortSignal): Promise<Page> {
    const { clock, keepMs, make } = this.#options;
    if (this.#last !== undefined && clock.monotonicMs() - this.#last.madeAtMs < keepMs)
      return this.#last.page;
    // It may be of megabytes: not held while the next is made.
    this.#last = undefined;
    const page = await make(signal);
    this.#last = { page, madeAtMs: clock.monotonicMs() };
    return page;
  }
}
