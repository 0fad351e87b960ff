/** There is no capacity for a request at the moment; the client may retry soon. */
export class BusyError extends Error {
  override readonly name = 'BusyError';

  constructor(
    message: string,
    /** When to retry. */
    readonly retryAfterSeconds = 1,
  ) {
    super(message);
  }
}
