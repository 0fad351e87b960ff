/**
 * Calls `work` for each item, in order, so many at once. Begins nothing any more once the signal aborts, lets what is
 * under way end, and then rejects with its reason. `work` should not reject: the first rejection ends it likewise.
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
