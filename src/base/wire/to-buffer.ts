/** The bytes of a message as the ws library hands them over, whichever of its three forms that is. */
export function toBuffer(data: Buffer | ArrayBuffer | readonly Buffer[]): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.concat(data);
}
