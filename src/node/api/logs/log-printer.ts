import { type CriLogLine, parseCriLogLine, timeToNs } from './cri-log-line.js';

/** The wanted part of a log. */
export interface LogSelection {
  /** Nanoseconds since the epoch: only what was written then or later. */
  readonly sinceNs?: bigint | undefined;
  /** Each line begins with its time. */
  readonly timestamps: boolean;
  /** Maximum of bytes. */
  readonly limitBytes?: number | undefined;
  readonly stream?: 'stdout' | 'stderr' | undefined;
}

interface OpenLine {
  readonly time: string;
  parts: Buffer[];
  size: number;
  /** Some of it was handed out. */
  isBegun: boolean;
}

/** A line without end is handed out in pieces of this size. */
const MAX_HELD_BYTES = 256 * 1024;
const LINE_END = Buffer.from('\n');

/** Converts the lines of a file for people: joins lines that a runtime has split, per stream. */
export class LogPrinter {
  readonly #selection: LogSelection;
  readonly #open = new Map<string, OpenLine>();
  #out: Buffer[] = [];
  #left: number;
  #lastNs: bigint | undefined;

  constructor(selection: LogSelection) {
    this.#selection = selection;
    this.#left = selection.limitBytes ?? Infinity;
  }

  /** Everything requested was handed out. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** The time of the newest line. */
  get lastNs(): bigint | undefined {
    return this.#lastNs;
  }

  /**
   * Adds a physical line; skips one that a runtime did not write.
   *
   * It may be part of a buffer that is reused after the next {@link take}. With `afterNs` only later lines
   * count.
   */
  push(line: Buffer, afterNs?: bigint): void {
    const parsed = parseCriLogLine(line);
    if (parsed === undefined || !this.#isWanted(parsed, afterNs)) return;
    const { stream, time, isPartial, text } = parsed;
    let open = this.#open.get(stream);
    if (open === undefined && !isPartial) {
      this.#begin(time);
      this.#write([text, LINE_END]);
      return;
    }
    if (open === undefined) this.#open.set(stream, (open = { time, parts: [], size: 0, isBegun: false }));
    // A program that repeatedly writes nothing must not fill the memory.
    if (text.length > 0) open.parts.push(Buffer.from(text));
    open.size += text.length;
    if (!isPartial) {
      this.#finish(stream, open);
      this.#write([LINE_END]);
    } else if (open.size > MAX_HELD_BYTES) {
      this.#write(this.#takeParts(open));
    }
  }

  /** The collected text; empty when there is none. */
  take(): Buffer {
    const out = Buffer.concat(this.#out);
    this.#out = [];
    return out;
  }

  /** Nothing more comes: unfinished lines are handed out as they are. */
  end(): void {
    for (const [stream, open] of [...this.#open]) this.#finish(stream, open);
  }

  #isWanted({ stream, time }: CriLogLine, afterNs: bigint | undefined): boolean {
    const { sinceNs, stream: wanted } = this.#selection;
    if (wanted !== undefined && stream !== wanted) return false;
    const ns = timeToNs(time);
    if (afterNs !== undefined && (ns === undefined || ns <= afterNs)) return false;
    if (ns !== undefined) this.#lastNs = ns;
    return sinceNs === undefined || (ns !== undefined && ns >= sinceNs);
  }

  #finish(stream: string, open: OpenLine): void {
    this.#open.delete(stream);
    this.#write(this.#takeParts(open));
  }

  #takeParts(open: OpenLine): Buffer[] {
    if (!open.isBegun) this.#begin(open.time);
    open.isBegun = true;
    const { parts } = open;
    open.parts = [];
    open.size = 0;
    return parts;
  }

  #begin(time: string): void {
    if (this.#selection.timestamps) this.#write([Buffer.from(`${time} `)]);
  }

  /** Takes a list, as there may be more parts than a call takes arguments. */
  #write(parts: readonly Buffer[]): void {
    for (const part of parts) {
      if (this.#left <= 0 || part.length === 0) continue;
      const taken = part.length > this.#left ? part.subarray(0, this.#left) : part;
      this.#left -= taken.length;
      this.#out.push(taken);
    }
  }
}
