/**
 * Waits for work that has to end some day: its signal aborts when the time is over or `signal` does, and what comes out
 * then says what was waited for.
 */
export async function withDeadline<Result>(
  what: string,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = AbortSignal.timeout(limitMs);
  try {
    return await work(AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error;
    throw new Error(`waited ${limitMs / 1_000} s ${what}`, { cause: error });
  }
}
