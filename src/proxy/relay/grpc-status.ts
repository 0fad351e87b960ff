/** Status codes of gRPC by the names that its documentation gives them; the number is the index. */
export const GRPC_STATUS_NAMES = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'],
  ...['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
] as const;

/** The code of an answer that is too large. */
export const GRPC_RESOURCE_EXHAUSTED = GRPC_STATUS_NAMES.indexOf('RESOURCE_EXHAUSTED');

/** The headers of an answer that has messages. */
export const ANSWER_HEADERS: readonly (readonly [string, string])[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

/** The trailers that say how a call ended. */
export function toTrailers(code: number, message: string): readonly (readonly [string, string])[] {
  const status = [['grpc-status', String(code)]] as const;
  return message === '' ? status : [...status, ['grpc-message', encodeStatusMessage(message)]];
}

/** Percent-encodes what may not stand in a header, as gRPC over HTTP/2 asks of grpc-message. */
function encodeStatusMessage(message: string): string {
  return [...Buffer.from(message, 'utf8')]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('');
}
