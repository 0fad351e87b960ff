/** A header block that cannot be read: what follows on its connection cannot be read either. */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}
