import { readText } from '../../source-tree.js';

/** A metric as a kubelet has it. */
export interface KubeletMetric {
  readonly page: string;
  readonly name: string;
  readonly type: string;
  /** Each label, with the values that were seen, where they are a list. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Bounds of a histogram as numbers, +Inf left out. */
  readonly buckets: readonly number[];
}

/** What a kubelet v1.37.2 in use has on /metrics and /metrics/probes. */
export function readKubeletMetrics(): KubeletMetric[] {
  return readText('test/integration/metrics/kubelet-agent-metrics.tsv')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): KubeletMetric => {
      const [page = '', name = '', type = '', labels = '', buckets = ''] = line.split('\t');
      return {
        ...{ page, name, type },
        labels: new Map(
          // A list of labels is cut at commas, which no value has.
          labels
            .split(',')
            .filter((label) => label !== '')
            .map((label) => {
              const [key = '', values] = label.split('=');
              return [key, values?.split('|') ?? []];
            }),
        ),
        buckets: buckets
          .replace(/^le=/, '')
          .split(',')
          .filter((bound) => bound !== '' && bound !== '+Inf')
          .map(Number),
      };
    });
}

/** The names in the first column of the tables below a heading of a page of the documentation. */
export function namesInTables(markdown: string): string[] {
  return [...markdown.matchAll(/^\| ((?:`[a-z0-9_]+`(?:, )?)+) +\|/gm)].flatMap((row) =>
    [...row[1]!.matchAll(/`([a-z0-9_]+)`/g)].map((match) => match[1]!),
  );
}

/** The labels of each metric, in tables with the columns name, type and labels. */
export function labelsInTables(markdown: string): ReadonlyMap<string, readonly string[]> {
  const quoted = (cell: string): string[] => [...cell.matchAll(/`([a-z0-9_]+)`/g)].map((match) => match[1]!);
  const rows = markdown.matchAll(/^\| (`[^|]+`) +\| (?:counter|gauge|histogram) *\|([^|]*)\|/gm);
  return new Map([...rows].flatMap((row) => quoted(row[1]!).map((name) => [name, quoted(row[2]!)] as const)));
}

/** A page of the documentation by its headings of the second level. */
export function chaptersOf(page: string): ReadonlyMap<string, string> {
  const [, ...chapters] = readText(page).split(/^## /m);
  return new Map(
    chapters.map((chapter) => {
      const [heading = '', ...body] = chapter.split('\n');
      return [heading.trim(), body.join('\n')];
    }),
  );
}
