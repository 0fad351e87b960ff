import { type Clock } from '../time/clock.js';

/**
 * Waits until the promise settles, however it does, and no longer than `limitMs`: whether it did.
 *
 * For ends, where nobody is left who would wait longer. What comes of the promise afterwards is swallowed.
 */
export async function settlesWithin(
  promise: Promise<unknown>,
  limitMs: number,
  clock: Pick<Clock, 'setTimer'>,
): Promise<boolean> {
  return await new Promise((resolve) => {
    const timer = clock.setTimer(limitMs, () => resolve(false));
    const onSettled = (): void => {
      timer.cancel();
      resolve(true);
    };
    promise.then(onSettled, onSettled);
  });
}
