/** In front of each message: whether it is compressed (1 byte) and its length (4 bytes). */
export const MESSAGE_PREFIX_BYTES = 5;

/** A message of a call, as gRPC frames it inside of DATA. */
export class GrpcMessage {
  /** Prefix and payload as they came, in pieces. */
  readonly pieces: readonly Buffer[];
  /** Of prefix and payload. */
  readonly length: number;
  #whole: Buffer | undefined;

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
    this.length = pieces.reduce((sum, { length }) => sum + length, 0);
  }

  /** Puts the prefix in front of a payload. */
  static of(payload: Uint8Array): GrpcMessage {
    const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
    prefix.writeUInt32BE(payload.length, 1);
    return new GrpcMessage([prefix, Buffer.from(payload.buffer, payload.byteOffset, payload.length)]);
  }

  /** Whether the payload is the message: neither compressed nor, at the end of a call, cut off. */
  get isReadable(): boolean {
    const [first] = this.pieces;
    if (first === undefined || this.length < MESSAGE_PREFIX_BYTES) return false;
    const prefix = first.length >= MESSAGE_PREFIX_BYTES ? first : this.#join();
    return prefix[0] === 0 && prefix.readUInt32BE(1) === this.length - MESSAGE_PREFIX_BYTES;
  }

  /** The message without its prefix. Its first use copies what came in pieces. */
  get payload(): Buffer {
    return this.#join().subarray(MESSAGE_PREFIX_BYTES);
  }

  #join(): Buffer {
    return (this.#whole ??= this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces));
  }
}
