/**
 * Runtimes and logs tell of whole milliseconds, rounded down: a moment that they tell of is taken to be the one at which the
 * next began, so that nothing is made out to be sooner than it was.
 */
export const CLOCK_STEP_MS = 1;

/** What to add to a monotonic time to get the wall clock's; waits for its next millisecond to begin. */
export function measureWallOffsetMs(): number {
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  return now - performance.now();
}
