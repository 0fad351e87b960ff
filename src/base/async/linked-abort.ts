/** An {@link AbortController} that aborts with another signal, for as long as that is wanted. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  /** Aborts this one alone. */
  abort(reason?: unknown): void;
  /** Ends the link. Call it when the work is over: the parent may live as long as the process. */
  unlink(): void;
}

/**
 * Makes a signal that aborts when `parent` does, with its reason, or when told to.
 *
 * Once unlinked it leaves nothing behind on the parent. (AbortSignal.any would keep something of each signal made.)
 */
export function linkAbort(parent: AbortSignal | undefined): LinkedAbort {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent?.reason);
  if (parent?.aborted === true) onAbort();
  else parent?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent?.removeEventListener('abort', onAbort),
  };
}
