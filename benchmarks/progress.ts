/** Says on stderr how far a benchmark is: one line that is written over on a terminal, milestones elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  #lastWidth = 0;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  /** Begins a part of the benchmark. */
  begin(what: string): void {
    this.#clear();
    this.#stream.write(`${what}\n`);
  }

  /** So many steps of it are done. */
  step(done: number, of: number, what: string): void {
    if (!this.#stream.isTTY) {
      // Enough to see that it lives, few enough for a log.
      if (done === of) this.#stream.write(`  ${what} ${done}/${of}\n`);
      return;
    }
    this.#clear();
    const line = `  ${what} ${done}/${of}`;
    this.#stream.write(done === of ? `${line}\n` : line);
    this.#lastWidth = done === of ? 0 : line.length;
  }

  #clear(): void {
    if (this.#lastWidth > 0) this.#stream.write(`\r${' '.repeat(this.#lastWidth)}\r`);
    this.#lastWidth = 0;
  }
}
