/**
 * The two messages of grpc.health.v1.Health/Check in their gRPC frames.
 *
 * @module
 */

import { encodeBytesField, ifReadable, readFields, WireType } from '#base/wire/protobuf-fields.js';

/** HealthCheckResponse.ServingStatus. */
const SERVING_STATUS: readonly string[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const FRAME_HEAD_BYTES = 5;
/** Of HealthCheckRequest. */
const SERVICE_FIELD = 1;
/** Of HealthCheckResponse. */
const STATUS_FIELD = 1;

/** Encodes a HealthCheckRequest in its frame: flag, length, and field 1 with the service's name. */
export function encodeHealthRequest(service: string): Buffer {
  const message = service === '' ? Buffer.alloc(0) : encodeBytesField(SERVICE_FIELD, Buffer.from(service));
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
  const fields = ifReadable(() => [...readFields(message)]);
  if (fields === undefined) throw new Error('the answer is no message');
  const statuses = fields.filter(
    ({ number, wireType }) => number === STATUS_FIELD && wireType === WireType.VARINT,
  );
  const status = statuses.at(-1)?.value ?? 0;
  return SERVING_STATUS[status] ?? String(status);
}
