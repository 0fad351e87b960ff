import { type Clock } from '#base/time/clock.js';

/** How {@link CallPlaces} bounds what is under way. */
export interface CallPlacesOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Calls that are under way at once. */
  readonly atOnce: number;
  /** A call that takes longer gives its place to another one and goes on outside. */
  readonly placeLimitMs: number;
  /** Calls that go on outside at most: beyond that a place is given back only with its answer. */
  readonly mostOutside: number;
}

/** Limits the calls in flight; a call that hangs gives up its place. */
export class CallPlaces {
  readonly #options: CallPlacesOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #outside = 0;

  constructor(options: CallPlacesOptions) {
    this.#options = options;
  }

  /** Calls that have given their place to another one and have no answer yet. */
  get outside(): number {
    return this.#outside;
  }

  /** Resolves when the call has been sent, which is when there is a place for it. The call must not reject. */
  async send(call: () => Promise<unknown>): Promise<void> {
    while (this.#taken >= this.#options.atOnce) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#taken++;
    const underWay = this.#run(call);
    this.#underWay.add(underWay);
    void underWay.finally(() => this.#underWay.delete(underWay));
  }

  /** Resolves when every call has been answered or goes on outside. One may wait for that at a time. */
  async settle(): Promise<void> {
    while (this.#taken > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves when nothing is under way any more. */
  async drain(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #run(call: () => Promise<unknown>): Promise<void> {
    const { clock, placeLimitMs, mostOutside } = this.#options;
    let giveBack = (): void => this.#giveBack();
    const timer = clock.setTimer(placeLimitMs, () => {
      if (this.#outside >= mostOutside) return;
      this.#outside++;
      giveBack = () => {
        this.#outside--;
      };
      this.#giveBack();
    });
    try {
      await call();
    } finally {
      timer.cancel();
      giveBack();
    }
  }

  #giveBack(): void {
    this.#taken--;
    this.#waiting.shift()?.();
  }
}
