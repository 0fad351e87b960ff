import { GrpcMessage, MESSAGE_PREFIX_BYTES } from './grpc-message.js';

/** Larger messages are not buffered: handlers do not get to see them. */
const LARGEST_MESSAGE_BYTES = 256 * 2 ** 20;

/** Puts the messages of one side of a call together from the pieces in which they come. */
export class MessageAssembler {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Prefix and payload; undefined while the prefix is not complete. */
  #wanted: number | undefined;

  /** Whether a message has begun and is not complete. */
  get isPartial(): boolean {
    return this.#bytes > 0;
  }

  /**
   * Takes the next bytes, which are kept as they are, and gives the messages that are complete with them. Throws
   * RangeError when one is announced that is too large.
   */
  push(bytes: Buffer): GrpcMessage[] {
    const messages: GrpcMessage[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#bytes === 0 && bytes.length - at >= MESSAGE_PREFIX_BYTES) {
        // Prefix and payload stay together, as they mostly come.
        this.#wanted = MESSAGE_PREFIX_BYTES + readLength(bytes.subarray(at));
      }
      const goal = this.#wanted ?? MESSAGE_PREFIX_BYTES;
      const piece = bytes.subarray(at, at + goal - this.#bytes);
      at += piece.length;
      this.#bytes += piece.length;
      this.#pieces.push(piece);
      if (this.#bytes < goal) continue;
      this.#wanted ??= MESSAGE_PREFIX_BYTES + readLength(Buffer.concat(this.#pieces));
      if (this.#bytes === this.#wanted) messages.push(this.#finish());
    }
    return messages;
  }

  /** Forgets what is not complete, and gives it. */
  clear(): Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bytes = 0;
    this.#wanted = undefined;
    return pieces;
  }

  #finish(): GrpcMessage {
    return new GrpcMessage(this.clear());
  }
}

function readLength(prefix: Buffer): number {
  const length = prefix.readUInt32BE(1);
  if (length > LARGEST_MESSAGE_BYTES) throw new RangeError(`a message of ${length} bytes is too large`);
  return length;
}
