/**
 * The runtime's own metrics, for pages about the same pods.
 *
 * In: its samples, dozens for each container. Out: the wanted ones by metric, and the labels of each. It
 * assumes that runtimes agree on names but not on labels (CRI-O's have neither pod nor namespace), so the
 * subject of a sample is identified by the id that the runtime gives with it.
 *
 * @module
 */
import { type RuntimeMetrics, type RuntimeSample } from '#watch';
import { SliceYielder } from '#base/async/slices.js';
import { COMMON_LABELS } from '#base/proc/usage/usage-metric.js';
import { type Labels } from './prom-text.js';

/** A metric of the runtime. */
export interface RuntimeFamily {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly RuntimeSample[];
  /** The labels of this metric beyond {@link COMMON_LABELS}. */
  readonly ownLabels: (sample: RuntimeSample) => Labels;
  /** All labels of a sample, as the runtime has them. */
  readonly allLabels: (sample: RuntimeSample) => Labels;
}

/** Samples between two turns of the event loop. */
const SAMPLES_PER_SLICE = 4_000;
/** Names come from a peer: an invalid one would spoil the page. */
const METRIC_NAME = /^(container|machine)_[a-z0-9_]+$/;
const LABEL_NAME = /^[a-z_][a-z0-9_]*$/i;

/**
 * The metrics of a runtime by name.
 *
 * @param taken names that the runtime must not use.
 * @param isWanted whether a metric of a subject is needed.
 */
export async function sortRuntimeSamples(
  metrics: RuntimeMetrics | undefined,
  taken: readonly string[],
  isWanted: (subjectId: string, name: string) => boolean,
  signal?: AbortSignal,
): Promise<Map<string, RuntimeFamily>> {
  const slices = new SliceYielder({ itemsPerSlice: SAMPLES_PER_SLICE });
  const families = new Map<string, { samples: RuntimeSample[] } & RuntimeFamily>();
  if (metrics === undefined) return families;
  const { descriptors, readSamples } = metrics;
  const names = new Set([...descriptors.keys()].filter((name) => METRIC_NAME.test(name)));
  for (const name of taken) names.delete(name);
  const samples = await readSamples((id, name) => names.has(name) && isWanted(id, name), signal);
  for (const sample of samples) {
    if (slices.isFull()) await slices.nextSlice();
    const { name } = sample;
    const family = families.get(name);
    const descriptor = descriptors.get(name);
    if (family !== undefined) family.samples.push(sample);
    else if (descriptor !== undefined)
      families.set(name, { ...toFamily(sample, descriptor), samples: [sample] });
  }
  return families;
}

function toFamily(
  { type }: RuntimeSample,
  { help, labelKeys }: { readonly help: string; readonly labelKeys: readonly string[] },
): Omit<RuntimeFamily, 'samples'> {
  const all = [...labelKeys.entries()].filter(([, key]) => LABEL_NAME.test(key));
  const own = all.filter(([, key]) => !COMMON_LABELS.some((common) => common === key));
  const toLabels =
    (keys: readonly (readonly [number, string])[]) =>
    ({ labelValues }: RuntimeSample): Labels =>
      Object.fromEntries(keys.map(([index, key]) => [key, labelValues[index] ?? '']));
  return { type, help, ownLabels: toLabels(own), allLabels: toLabels(all) };
}
