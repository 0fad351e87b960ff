/** The padding of one frame of DATA that comes in pieces: its length stands in front, the padding itself behind. */
export class DataPadding {
  readonly #payloadLength: number;
  /** Undefined until the first byte has come. */
  #dataLeft: number | undefined;

  constructor(payloadLength: number) {
    this.#payloadLength = payloadLength;
  }

  /** What is data in the next piece, which is not empty. */
  strip(piece: Buffer): Buffer {
    let data = piece;
    if (this.#dataLeft === undefined) {
      this.#dataLeft = Math.max(0, this.#payloadLength - 1 - piece[0]!);
      data = piece.subarray(1);
    }
    const part = data.subarray(0, this.#dataLeft);
    this.#dataLeft -= part.length;
    return part;
  }
}
