import { type MetricHead, writeHead, writeLabels, writeNumber } from '#base/text/metrics-lines.js';
import { SliceYielder } from '#base/async/slices.js';

/** A sample's labels, in the order in which they are written. */
export type Labels = Readonly<Record<string, string>>;

/** One metric in Prometheus' text format: its head and its samples. */
export interface Family extends MetricHead {
  readonly type: 'counter' | 'gauge';
}

/** Samples between two turns of the event loop: some milliseconds. */
const SAMPLES_PER_SLICE = 500;

/**
 * A page in Prometheus' text format, version 0.0.4, written family by family.
 *
 * ```ts
 * const text = new PromText();
 * text.begin({ name: 'up', type: 'gauge', help: 'Whether it is there.' });
 * if (text.sample({}, 1)) await text.nextSlice();
 * return text.end();
 * ```
 *
 * A family without a sample is not written. A sample that has the labels of an earlier one of its family is dropped
 * and counted: a scraper would refuse the whole page for it.
 *
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export class PromText {
  readonly #slices = new SliceYielder({ itemsPerSlice: SAMPLES_PER_SLICE });
  readonly #pieces: Uint8Array[] = [];
  readonly #seen = new Set<string>();
  #family: Family | undefined;
  #head = '';
  #lines: string[] = [];
  #duplicates = 0;

  /** The number of dropped samples. */
  get duplicates(): number {
    return this.#duplicates;
  }

  /** Begins a family. Its name must not have been used before. */
  begin(family: Family): void {
    this.#flush();
    this.#seen.clear();
    this.#family = family;
    this.#head = writeHead(family);
  }

  /**
   * Writes a sample of the family; skips an undefined value. True when the event loop should turn.
   *
   * @param atMs time of measurement, if it was not just now.
   */
  sample(labels: Labels, value: number | undefined, atMs?: number): boolean {
    return value !== undefined && this.line(writeLabels(labels), value, atMs);
  }

  /**
   * The same for labels from {@link writeLabels}, as most of them are shared by many samples.
   *
   * @param text several such texts, joined by commas.
   */
  line(text: string, value: number, atMs?: number): boolean {
    if (this.#seen.has(text)) {
      this.#duplicates++;
      return false;
    }
    this.#seen.add(text);
    return this.lineOfItsOwn(text, value, atMs);
  }

  /**
   * The same for labels that no other sample of the family has: skips the check for duplicates, a third of
   * the work.
   */
  lineOfItsOwn(text: string, value: number, atMs?: number): boolean {
    if (this.#family === undefined) return false;
    const time = atMs === undefined || atMs <= 0 ? '' : ` ${Math.round(atMs)}`;
    const { name } = this.#family;
    this.#lines.push(
      text === ''
        ? `${name} ${writeNumber(value)}${time}\n`
        : `${name}{${text}} ${writeNumber(value)}${time}\n`,
    );
    return this.#slices.isFull();
  }

  /** Lets the event loop turn. */
  async nextSlice(): Promise<void> {
    this.#flush();
    await this.#slices.nextSlice();
  }

  /** The page, encoded, in pieces. */
  end(): readonly Uint8Array[] {
    this.#flush();
    return this.#pieces;
  }

  toString(): string {
    return Buffer.concat(this.end()).toString();
  }

  #flush(): void {
    if (this.#lines.length === 0) return;
    // Slice by slice: one string for the whole page would be flattened and encoded at once, and stay in
    // memory until then.
    this.#pieces.push(Buffer.from(`${this.#head}${this.#lines.join('')}`));
    this.#head = '';
    this.#lines = [];
  }
}
