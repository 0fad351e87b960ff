import { linkAbort } from '../util/linked-abort.js';

/**
 * Runs calls that are of use only together: `run` gets a signal that aborts with the caller's, and as soon as
 * `run` fails, so that the first failure gives up the other calls.
 */
export async function withSharedSignal<T>(
  signal: AbortSignal | undefined,
  run: (shared: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const siblings = linkAbort(signal);
  try {
    return await run(siblings.signal);
  } catch (error) {
    siblings.abort(error);
    throw error;
  } finally {
    siblings.unlink();
  }
}
