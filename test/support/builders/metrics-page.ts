/** One number of a page of metrics. */
export interface PageSample {
  /** With its suffix: name_bucket, name_sum. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric of a page, with all its numbers. */
export interface PageFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly PageSample[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)/y;
const VALUE = /^(?:[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN)$/;

/**
 * Reads a page in Prometheus' text format, as strictly as a scraper. Throws at the first line that is none, or stands
 * where it may not.
 *
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function readMetricsPage(text: string): ReadonlyMap<string, PageFamily> {
  if (!text.endsWith('\n')) throw new Error('the page does not end with a line feed');
  const families = new Map<string, PageFamily & { samples: PageSample[] }>();
  let open: { name: string; type: string; help: string; samples: PageSample[] } | undefined;
  const seen = new Set<string>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name, rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(name!)) throw new Error(`${name!} stands in two places`);
      open = { name: name!, type: 'untyped', help: rest, samples: [] };
      families.set(name!, open);
    } else if (kind === 'TYPE') {
      if (open?.name !== name) throw new Error(`the type of ${name!} does not follow its help`);
      open!.type = rest;
    } else if (!line.startsWith('#')) {
      const sample = readSample(line);
      if (open === undefined || familyNameOf(sample.name, open) !== open.name)
        throw new Error(`not below its own name: ${line}`);
      const key = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (seen.has(key)) throw new Error(`twice: ${line}`);
      seen.add(key);
      open.samples.push(sample);
    }
  }
  return families;
}

function readSample(line: string): PageSample {
  const [, name, inner = '', word] = SAMPLE.exec(line) ?? [];
  if (name === undefined || !VALUE.test(word!)) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inner.length) {
    const [, label, value] = LABEL.exec(inner) ?? [];
    if (label === undefined) throw new Error(`no labels: ${line}`);
    if (label in labels) throw new Error(`a label twice: ${line}`);
    labels[label] = value!.replaceAll(/\\(.)/g, (_all, char: string) => (char === 'n' ? '\n' : char));
  }
  return { name, labels, value: Number(word!.replace('Inf', 'Infinity')) };
}

function familyNameOf(name: string, { type }: { readonly type: string }): string {
  if (type === 'histogram') return name.replace(/_(bucket|sum|count)$/, '');
  return type === 'summary' ? name.replace(/_(sum|count)$/, '') : name;
}

const BAD_UNITS =
  /(?:^|_)(milliseconds|ms|microseconds|us|nanoseconds|ns|minutes|hours|days|kilobytes|kb|mb)(?:_|$)/;

/**
 * What promtool's "check metrics" has against a page, and what it would have in its name: names, units, help, types,
 * buckets that do not add up. One sentence each; empty when all is well.
 */
export function findMetricsFaults(families: ReadonlyMap<string, PageFamily>): string[] {
  return [...families.values()].flatMap((family) => {
    const { name, type, help, samples } = family;
    const isTotal = name.endsWith('_total');
    const faults = [
      [help === '', 'has no help'],
      [!/^(counter|gauge|histogram|summary)$/.test(type), `is a ${type}`],
      [!/^[a-z][a-z0-9_]*$/.test(name), 'is not in snake_case'],
      [type === 'counter' && !isTotal, 'is a counter and does not end in _total'],
      [type !== 'counter' && isTotal, 'is no counter and ends in _total'],
      [type !== 'histogram' && /_(count|sum|bucket)$/.test(name), 'ends as parts of histograms do'],
      [/(^|_)(counter|gauge|histogram|summary)(_|$)/.test(name), 'has its type in its name'],
      [BAD_UNITS.test(name), 'is not in a base unit'],
      [samples.some(({ value }) => Number.isNaN(value)), 'is not a number'],
      [type === 'counter' && samples.some(({ value }) => value < 0), 'is a counter below zero'],
      [type === 'histogram' && !samples.every(isPartOf(family)), 'has buckets that do not add up'],
    ] as const;
    return faults.flatMap(([isFault, what]) => (isFault ? [`${name} ${what}`] : []));
  });
}

/** Whether a sample of a histogram fits to its neighbours: buckets grow, and the last one is the count. */
function isPartOf({ samples }: PageFamily): (sample: PageSample, index: number) => boolean {
  return (sample, index) => {
    const next = samples[index + 1];
    if (sample.name.endsWith('_bucket')) {
      if (sample.labels['le'] !== '+Inf') return next !== undefined && next.value >= sample.value;
      const count = samples.find(
        (each) => each.name.endsWith('_count') && sameSeries(each.labels, sample.labels),
      );
      return count?.value === sample.value;
    }
    return true;
  };
}

function sameSeries(a: PageSample['labels'], { le: _le, ...b }: PageSample['labels']): boolean {
  return Object.keys(b).every((label) => a[label] === b[label]);
}
