import { type Clock } from '../time/clock.js';

/**
 * Waits until the promise settles in any way, but no longer than `limitMs`; returns whether it did.
 *
 * It is meant for shutdown, where nobody would wait longer. A later rejection of the promise is ignored.
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
