import { abortable } from './abortable.js';

/**
 * Yields the items of `source` until it ends or the signal aborts; both end the iteration without an error.
 *
 * Unlike a plain `for await` it does not need another item to notice the abort. The source's iterator is
 * closed, but not waited for.
 */
export async function* readUntilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await abortable(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    void iterator.return?.().catch(() => undefined);
  }
}
