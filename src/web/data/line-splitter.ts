/** Lines of a text that comes in pieces; whoever writes one without an end fills no memory with it. */
export class LineSplitter {
  /** What has no end yet. */
  rest = '';
  readonly #decoder = new TextDecoder();
  readonly #maxLine: number;

  /** Lines that are longer come in pieces of that length. */
  constructor(maxLine = Infinity) {
    this.#maxLine = maxLine;
  }

  /** The lines that have an end now. */
  add(piece: ArrayBuffer): string[] {
    const lines = (this.rest + this.#decoder.decode(piece, { stream: true })).split('\n');
    this.rest = lines.pop()!;
    if (this.#maxLine === Infinity) return lines;
    const parts = lines.flatMap((line) => this.#cut(line));
    if (this.rest.length <= this.#maxLine) return parts;
    const begun = this.#cut(this.rest);
    this.rest = begun.pop()!;
    return [...parts, ...begun];
  }

  #cut(line: string): string[] {
    if (line.length <= this.#maxLine) return [line];
    const count = Math.ceil(line.length / this.#maxLine);
    return Array.from({ length: count }, (_, at) => line.slice(at * this.#maxLine, (at + 1) * this.#maxLine));
  }
}
