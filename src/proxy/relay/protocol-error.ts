/** A peer does not speak HTTP/2 as RFC 9113 has it. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
