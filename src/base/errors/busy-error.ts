/** There is no room for somebody's question at the moment; he may come again soon. */
export class BusyError extends Error {
  override readonly name = 'BusyError';

  constructor(
    message: string,
    /** When it is worth another try. */
    readonly retryAfterSeconds = 1,
  ) {
    super(message);
  }
}
