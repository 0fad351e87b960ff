/** The newest samples of the machine, as lines of JSON, bounded in bytes and in age. */
export class SampleRing {
  readonly #maxBytes: number;
  readonly #maxAgeMs: number;
  /** The oldest first. */
  readonly #lines: { readonly atMs: number; readonly line: string }[] = [];
  #bytes = 0;

  constructor({ maxBytes, maxAgeMs }: { readonly maxBytes: number; readonly maxAgeMs: number }) {
    this.#maxBytes = maxBytes;
    this.#maxAgeMs = maxAgeMs;
  }

  get lines(): readonly string[] {
    return this.#lines.map(({ line }) => line);
  }

  /** Adds a sample of that time (milliseconds since the epoch); returns its line. */
  add(atMs: number, kind: 'check' | 'examination', sample: object): string {
    const line = `${JSON.stringify({ at: new Date(atMs).toISOString(), kind, ...sample }, toPlain)}\n`;
    this.#lines.push({ atMs, line });
    this.#bytes += line.length;
    while (this.#bytes > this.#maxBytes || (this.#lines[0]?.atMs ?? atMs) < atMs - this.#maxAgeMs)
      this.#bytes -= this.#lines.shift()!.line.length;
    return line;
  }
}

/** JSON has no numbers of that size. */
function toPlain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
