import { type Exposition } from '../exposition.js';
import { type LabelMatcher, type Selector } from './expression.js';

/** A series, and its values over time; undefined is where it was seen to be gone. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: { readonly atMs: number; readonly value: number | undefined }[];
}

/** For how long a value counts as the present one. */
const LOOKBACK_MS = 300_000;

/** What was scraped of a node, of one page under one job or of several, as Prometheus keeps it. */
export class ScrapedSeries {
  readonly #series = new Map<string, Series>();
  readonly #target: Readonly<Record<string, string>>;

  /** @param target labels that every series gets whose page has no job of its own. */
  constructor(target: Readonly<Record<string, string>> = { job: 'podloop', instance: 'test' }) {
    this.#target = target;
  }

  /** Takes a scrape in; undefined for one that failed. What is not in it any more is gone from then on. */
  add(atMs: number, page: Exposition | undefined, job = this.#target['job']): void {
    const samples = [...(page?.samples ?? []), { name: 'up', labels: {}, value: page === undefined ? 0 : 1 }];
    const seen = new Set<Series>();
    for (const { name, labels, value } of samples) {
      const all = { ...labels, ...this.#target, ...(job === undefined ? {} : { job }) };
      const key = `${name} ${JSON.stringify(Object.entries(all).sort())}`;
      const series: Series = this.#series.get(key) ?? { name, labels: all, points: [] };
      this.#series.set(key, series);
      series.points.push({ atMs, value });
      seen.add(series);
    }
    for (const series of this.#series.values()) {
      if (series.labels['job'] !== job) continue;
      if (!seen.has(series) && series.points.at(-1)?.value !== undefined)
        series.points.push({ atMs, value: undefined });
    }
  }

  /** Series that ever had such a name and labels. */
  find({ name, matchers }: Pick<Selector, 'name' | 'matchers'>): Series[] {
    return [...this.#series.values()].filter(
      (series) => series.name === name && matchers.every((matcher) => matches(series.labels, matcher)),
    );
  }

  /** What a label ever was. */
  valuesOf(label: string): string[] {
    const values = [...this.#series.values()].flatMap(({ labels }) => labels[label] ?? []);
    return [...new Set(values)];
  }

  /** The present value of a series; undefined when it has none. */
  static valueAt({ points }: Series, atMs: number): number | undefined {
    const last = points.findLast((point) => point.atMs <= atMs);
    return last === undefined || atMs - last.atMs > LOOKBACK_MS ? undefined : last.value;
  }

  /** The values of a series in the time before. */
  static range({ points }: Series, atMs: number, rangeMs: number): { atMs: number; value: number }[] {
    return points.flatMap(({ atMs: pointMs, value }) =>
      value !== undefined && pointMs > atMs - rangeMs && pointMs <= atMs ? [{ atMs: pointMs, value }] : [],
    );
  }
}

function matches(labels: Readonly<Record<string, string>>, { label, op, value }: LabelMatcher): boolean {
  const own = labels[label] ?? '';
  switch (op) {
    case '=':
      return own === value;
    case '!=':
      return own !== value;
    case '=~':
      return new RegExp(`^(?:${value})$`).test(own);
    case '!~':
      return !new RegExp(`^(?:${value})$`).test(own);
  }
}
