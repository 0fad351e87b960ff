/** The current state of a promise: neither result nor error while it is pending. */
export interface WatchedPromise<T> {
  readonly value: T | undefined;
  readonly error: unknown;
}

/** Watches a promise without waiting for it; its rejection is handled. */
export function watchPromise<T>(promise: Promise<T>): WatchedPromise<T> {
  const seen: { value: T | undefined; error: unknown } = { value: undefined, error: undefined };
  promise.then(
    (value) => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  return seen;
}
