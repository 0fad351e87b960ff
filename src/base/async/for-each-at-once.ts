/**
 * Calls `work` for each item, in order, with limited concurrency.
 *
 * When the signal aborts, it starts nothing more, waits for running work, and then rejects with the signal's
 * reason. `work` should not reject: the first rejection ends it in the same way.
 */
export async function forEachAtOnce<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const takeAll = async (): Promise<void> => {
    for (;;) {
      if (signal?.aborted === true) return;
      const next = rest.next();
      if (next.done === true) return;
      await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, takeAll));
  signal?.throwIfAborted();
}
