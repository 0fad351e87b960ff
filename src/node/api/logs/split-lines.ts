const LINE_END = 0x0a;
/** A runtime splits lines at some 16 KiB; a longer one is not a real line. */
const MAX_LINE_LENGTH = 1024 * 1024;

/** Splits chunks into lines. */
export class LineSplitter {
  #rest: Buffer[] = [];
  #restSize = 0;
  #isSkipping = false;

  /** Bytes of an unfinished line. */
  get restSize(): number {
    return this.#restSize;
  }

  /**
   * The lines that end in this chunk, without their ends. Chunks may be reused once the lines are processed.
   */
  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, start)) {
      const part = chunk.subarray(start, end);
      start = end + 1;
      const line = this.#rest.length === 0 ? part : Buffer.concat([...this.#rest, part]);
      const isSkipped = this.#isSkipping;
      this.#forget();
      if (!isSkipped) yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#restSize += part.length;
    if (this.#restSize > MAX_LINE_LENGTH) {
      this.#isSkipping = true;
      this.#rest = [];
    } else if (!this.#isSkipping) this.#rest.push(Buffer.from(part));
  }

  #forget(): void {
    this.#rest = [];
    this.#restSize = 0;
    this.#isSkipping = false;
  }
}
