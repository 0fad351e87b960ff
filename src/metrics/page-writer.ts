import { type Clock } from '../util/clock.js';

/** One metric on a page: its head, and its samples as they are asked for. */
export interface WrittenFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** Whole lines, as many together as have to be of one moment. */
  readonly pieces: () => Iterable<string> | Promise<Iterable<string>>;
}

/** What a {@link PageWriter} needs. */
export interface PageWriterOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Lets the event loop turn once. */
  readonly yieldToLoop: () => Promise<unknown>;
}

/** A page is put together for so long before the event loop turns, in milliseconds. */
const SLICE_MS = 5;
/** Characters that are encoded at once. */
const BUFFER_LENGTH = 64 * 1_024;

/**
 * Writes metrics in Prometheus' text format, in slices, within a metric with thousands of series as well, and encoded as
 * it goes: one string of a whole page would be made flat and encoded all at once in the end.
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
  async write({ name, help, type, pieces }: WrittenFamily, signal: AbortSignal | undefined): Promise<void> {
    this.#add(`# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`);
    for (const piece of await pieces()) {
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

/** `a="1",b="2"`: without the braces, so that more may be put in; empty without labels. */
export function writeLabels(labels: Readonly<Record<string, string | number | undefined>>): string {
  let text = '';
  for (const name in labels) {
    const value = labels[name];
    if (value !== undefined) text += `${text === '' ? '' : ','}${name}="${escapeLabel(String(value))}"`;
  }
  return text;
}

/** One line. */
export function writeSample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${writeNumber(value)}\n`;
}

function writeNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

const TO_ESCAPE = /[\\"\n]/;

function escapeLabel(text: string): string {
  if (!TO_ESCAPE.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
