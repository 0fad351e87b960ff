import { writeLabels } from '#base/text/metrics-lines.js';
import { writeSample } from './page-writer.js';

/** The observations under one set of labels. */
interface Series {
  readonly labels: string;
  /** By bucket, the last one being +Inf; each without the ones below it. */
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram with thousands of short-lived series.
 *
 * It writes its page one series after the other. prom-client prepares all of them at once, which blocks the
 * event loop too long.
 */
export class SeriesHistogram<Label extends string> {
  readonly #name: string;
  readonly #buckets: readonly number[];
  /** `le="0.5"` for each bucket. */
  readonly #bounds: readonly string[];
  readonly #series = new Map<string, Series>();

  /** @param buckets in the metric's unit, ascending, without +Inf. */
  constructor(name: string, buckets: readonly number[]) {
    this.#name = name;
    this.#buckets = buckets;
    this.#bounds = [...buckets, '+Inf'].map((le) => writeLabels({ le }));
  }

  /** Throws for a value that is not finite. */
  observe(labels: Readonly<Record<Label, string>>, value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`${this.#name} cannot take ${value}`);
    const key = writeLabels(labels);
    const series = this.#series.get(key) ?? { labels: key, counts: this.#bounds.map(() => 0), sum: 0 };
    this.#series.set(key, series);
    const bucket = this.#buckets.findIndex((bound) => value <= bound);
    series.counts[bucket === -1 ? this.#buckets.length : bucket]!++;
    series.sum += value;
  }

  /** Labels in the order in which they were observed. */
  remove(labels: Readonly<Record<Label, string>>): void {
    this.#series.delete(writeLabels(labels));
  }

  /** The lines of each present series, with their values at the time of the iteration. */
  *pieces(): Iterable<string> {
    // A series that disappears and comes back while the page is written would be on it twice.
    for (const series of [...this.#series.values()]) yield this.#write(series);
  }

  #write({ labels, counts, sum }: Series): string {
    const rest = labels === '' ? '' : `,${labels}`;
    let text = '';
    let count = 0;
    for (const [at, bound] of this.#bounds.entries()) {
      count += counts[at]!;
      text += writeSample(`${this.#name}_bucket`, `${bound}${rest}`, count);
    }
    text += writeSample(`${this.#name}_sum`, labels, sum);
    return text + writeSample(`${this.#name}_count`, labels, count);
  }
}
