import { type Clock } from '#base/time/clock.js';

/** What {@link CachedPage} needs. */
export interface CachedPageOptions<Page> {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly keepMs: number;
  readonly make: (signal: AbortSignal) => Promise<Page>;
}

/** Caches a page that is expensive to render for a while. Failures are not cached. */
export class CachedPage<Page> {
  readonly #options: CachedPageOptions<Page>;
  #last: { readonly page: Page; readonly madeAtMs: number } | undefined;

  constructor(options: CachedPageOptions<Page>) {
    this.#options = options;
  }

  /** The cached page, or a new one. Callers have to limit simultaneous calls. */
  async get(signal: AbortSignal): Promise<Page> {
    const { clock, keepMs, make } = this.#options;
    if (this.#last !== undefined && clock.monotonicMs() - this.#last.madeAtMs < keepMs)
      return this.#last.page;
    // It may have megabytes: free it before the next one is rendered.
    this.#last = undefined;
    const page = await make(signal);
    this.#last = { page, madeAtMs: clock.monotonicMs() };
    return page;
  }
}
