/**
 * The two messages of grpc.health.v1.Health/Check in their gRPC frames.
 *
 * @module
 */

/** HealthCheckResponse.ServingStatus. */
const SERVING_STATUS: readonly string[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const FRAME_HEAD_BYTES = 5;

/** Encodes a HealthCheckRequest in its frame: flag, length, and field 1 with the service's name. */
export function encodeHealthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const message =
    name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.of(0x0a), varint(name.length), name]);
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/**
 * The status in a framed HealthCheckResponse; a number if it has no name here. Throws for an invalid message.
 */
export function decodeHealthResponse(frame: Buffer): string {
  if (frame.length < FRAME_HEAD_BYTES || frame.length < FRAME_HEAD_BYTES + frame.readUInt32BE(1)) {
    throw new Error('the answer is not whole');
  }
  if (frame[0] !== 0) throw new Error('the answer is compressed, which was not asked for');
  const message = frame.subarray(FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + frame.readUInt32BE(1));
  let status = 0;
  for (let at = 0; at < message.length;) {
    const key = readVarint(message, at);
    const value = readVarint(message, key.end);
    const [field, wireType] = [Math.floor(key.value / 8), key.value % 8];
    if (wireType === 0) {
      at = value.end;
      if (field === 1) status = value.value;
    } else if (wireType === 2) at = value.end + value.value;
    else if (wireType === 1) at = key.end + 8;
    else if (wireType === 5) at = key.end + 4;
    else throw new Error('the answer is no message');
  }
  return SERVING_STATUS[status] ?? String(status);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = start, factor = 1; at < bytes.length && at < start + 10; at++, factor *= 128) {
    value += (bytes[at]! % 128) * factor;
    if (bytes[at]! < 128) return { value, end: at + 1 };
  }
  // Too short: the rest of a known field is missing.
  throw new Error('the answer is no message');
}
