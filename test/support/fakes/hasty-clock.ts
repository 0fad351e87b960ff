import { FakeClock } from '#testing/fake-clock.js';

/** Sleeps take no time; limits of what is waited for stand still, as with any fake clock. */
export class HastyClock extends FakeClock {
  readonly slept: number[] = [];

  override sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(delayMs);
    return Promise.resolve();
  }
}
