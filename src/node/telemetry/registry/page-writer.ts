import { type Clock } from '#base/time/clock.js';
import { type MetricHead, writeHead, writeNumber } from '#base/text/metrics-lines.js';

/** One metric on a page: its head, and its samples when they are written. */
export interface WrittenFamily extends MetricHead {
  /** Whole lines; each piece is of one moment. */
  readonly pieces: () => Iterable<string> | Promise<Iterable<string>>;
}

/** What a {@link PageWriter} needs. */
export interface PageWriterOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Lets the event loop turn once. */
  readonly yieldToLoop: () => Promise<unknown>;
}

/** How long a page is written before the event loop turns, in milliseconds. */
const SLICE_MS = 5;
/** Characters per encoding step. */
const BUFFER_LENGTH = 64 * 1_024;

/**
 * Writes metrics in Prometheus' text format, in slices, even within a metric with thousands of series.
 *
 * It encodes as it writes: one string for the whole page would be flattened and encoded at once in the end.
 */
export class PageWriter {
  readonly #options: PageWriterOptions;
  readonly #buffers: Uint8Array[] = [];
  #text = '';
  #sliceEndMs: number;

  constructor(options: PageWriterOptions) {
    this.#options = options;
    this.#sliceEndMs = options.clock.monotonicMs() + SLICE_MS;
  }

  /** Rejects with the signal's reason. */
  async write(family: WrittenFamily, signal: AbortSignal | undefined): Promise<void> {
    this.#add(writeHead(family));
    for (const piece of await family.pieces()) {
      this.#add(piece);
      await this.#turnWhenDue(signal);
    }
    await this.#turnWhenDue(signal);
  }

  /** The page, in pieces. */
  end(): readonly Uint8Array[] {
    this.#encode();
    return this.#buffers;
  }

  #add(piece: string): void {
    this.#text += piece;
    if (this.#text.length >= BUFFER_LENGTH) this.#encode();
  }

  #encode(): void {
    if (this.#text !== '') this.#buffers.push(Buffer.from(this.#text));
    this.#text = '';
  }

  #turnWhenDue(signal: AbortSignal | undefined): Promise<void> | undefined {
    const { clock } = this.#options;
    return clock.monotonicMs() < this.#sliceEndMs ? undefined : this.#turn(signal);
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { clock, yieldToLoop } = this.#options;
    await yieldToLoop();
    signal?.throwIfAborted();
    this.#sliceEndMs = clock.monotonicMs() + SLICE_MS;
  }
}

/** One line. */
export function writeSample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${writeNumber(value)}\n`;
}
