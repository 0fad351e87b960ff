/** An {@link AbortController} that also aborts with another signal, until it is unlinked. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  /** Aborts only this one, not the parent. */
  abort(reason?: unknown): void;
  /** Ends the link. Call it when the work is over, as the parent may live as long as the process. */
  unlink(): void;
}

/**
 * Makes a controller that aborts with `parent` and its reason, or by its own `abort`.
 *
 * Once unlinked it leaves nothing behind on the parent. (AbortSignal.any would retain memory for each signal
 * made.)
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
