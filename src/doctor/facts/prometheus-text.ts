/** One line of a page in Prometheus' text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;
/** More lines than any kubelet has. */
const MAX_LINES = 200_000;

/**
 * Reads samples whose name passes `wants` out of a page in Prometheus' text format; what is no sample is left out.
 * See https://prometheus.io/docs/instrumenting/exposition_formats/.
 */
export function parseSamples(page: string, wants: (name: string) => boolean): Sample[] {
  const samples: Sample[] = [];
  for (const line of page.split('\n', MAX_LINES)) {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined || !wants(name)) continue;
    samples.push({ name, labels: parseLabels(labels), value: toNumber(value) });
  }
  return samples;
}

function parseLabels(text: string): Record<string, string> {
  const unescape = (value: string): string =>
    value.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
  return Object.fromEntries([...text.matchAll(LABEL)].map(([, name, value]) => [name!, unescape(value!)]));
}

function toNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

/** A bucket of a histogram: how many observations were at most so large. */
export interface Bucket {
  readonly le: number;
  readonly count: number;
}

/** The buckets of a histogram among samples, by the value of one label; '' where it has no such label. */
export function bucketsOf(samples: readonly Sample[], name: string, label = ''): Map<string, Bucket[]> {
  const histograms = new Map<string, Bucket[]>();
  for (const { labels, value } of samples.filter((sample) => sample.name === `${name}_bucket`)) {
    const key = labels[label] ?? '';
    const bucket = { le: toNumber(labels['le'] ?? 'NaN'), count: value };
    const buckets = histograms.get(key);
    if (buckets === undefined) histograms.set(key, [bucket]);
    else buckets.push(bucket);
  }
  for (const buckets of histograms.values()) buckets.sort((a, b) => a.le - b.le);
  return histograms;
}

/** What came into the buckets of a histogram since; all of it if it was not there before, or was reset. */
export function bucketsSince(now: readonly Bucket[], before: readonly Bucket[]): Bucket[] {
  const total = (buckets: readonly Bucket[]): number => buckets.at(-1)?.count ?? 0;
  if (total(before) > total(now)) return [...now];
  const counts = new Map(before.map(({ le, count }) => [le, count]));
  return now.map(({ le, count }) => ({ le, count: count - (counts.get(le) ?? 0) }));
}

/** A quantile as Prometheus' histogram_quantile estimates it; undefined of an empty histogram. */
export function quantileOf(buckets: readonly Bucket[], share: number): number | undefined {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return undefined;
  const rank = share * total;
  const at = buckets.findIndex(({ count }) => count >= rank);
  const { le, count } = buckets[at]!;
  const { le: from, count: below } = at === 0 ? { le: 0, count: 0 } : buckets[at - 1]!;
  // Of what lies beyond the last bound only that is known.
  if (le === Number.POSITIVE_INFINITY) return from;
  return count === below ? le : from + (le - from) * ((rank - below) / (count - below));
}
