import { type PageSample, readMetricsPage } from '#support/builders/metrics-page.js';

/** One sample of a page in Prometheus' text format. */
export type ExposedSample = PageSample;

/** A page in Prometheus' text format, as what is scraped of it: samples in their order. */
export interface Exposition {
  readonly samples: readonly ExposedSample[];
  /** By family: counter, gauge, histogram … */
  readonly types: ReadonlyMap<string, string>;
}

/** Reads a page; throws where Prometheus or promtool would complain. */
export function readExposition(text: string): Exposition {
  const families = [...readMetricsPage(text).values()];
  for (const { name, help } of families) if (help === '') throw new Error(`${name} has no help`);
  return {
    samples: families.flatMap(({ samples }) => samples),
    types: new Map(families.map(({ name, type }) => [name, type])),
  };
}
