/**
 * Runs calls that are of use only together: `run` gets a signal that aborts with the caller's, and as soon as
 * `run` fails, so that the first failure gives up the other calls.
 */
export async function withSharedSignal<T>(
  signal: AbortSignal | undefined,
  run: (shared: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const siblings = new AbortController();
  const onAbort = (): void => siblings.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await run(siblings.signal);
  } catch (error) {
    siblings.abort(error);
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
