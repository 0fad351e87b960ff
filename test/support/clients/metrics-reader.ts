import { readMetricsPage } from '../builders/metrics-page.js';

/** Whoever writes a page of metrics. */
interface MetricsWriter {
  text(): Promise<string>;
}

/**
 * Reads numbers off a page as a dashboard names them: `name`, `name_count`, `name{label="value"}`, with the labels in
 * any order and all of them. Undefined where there is none.
 */
export async function scrape(
  registry: MetricsWriter,
): Promise<(name: string, labels?: Readonly<Record<string, string>>) => number | undefined> {
  const families = readMetricsPage(await registry.text());
  const byKey = new Map<string, number>();
  for (const { samples } of families.values()) {
    for (const { name, labels, value } of samples) byKey.set(keyOf(name, labels), value);
  }
  return (name, labels = {}) => byKey.get(keyOf(name, labels));
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  return `${name}${JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}
