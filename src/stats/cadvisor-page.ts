/**
 * The page `/metrics/cadvisor`: what the node, its pods and their containers use, by cAdvisor's names and labels.
 *
 * In: a look at usage, the machine's cgroups, and the metrics that the runtime makes itself. Out: text. A cgroup that
 * can be read goes first, as it tells most and most exactly; then what the runtime told; and what the runtime's own
 * metrics have beyond both is taken over from them. It assumes that any of these may be missing.
 *
 * Source: https://github.com/google/cadvisor/blob/master/docs/storage/prometheus.md
 *
 * @module
 */
import { type RuntimeMetrics, type RuntimeSample } from '../runtime/pod-usage.js';
import { type ContainerFacts, CONTAINER_METRICS, NETWORK_METRICS } from '../util/usage/container-metrics.js';
import { type InterfaceUsage } from '../util/usage/network-usage.js';
import { type UsageMetric } from '../util/usage/usage-metric.js';
import { type MachineFacts, machineMetrics } from './machine-facts.js';
import { type Labels, PromText, type Family } from './prom-text.js';
import { type UsageLook } from './usage-looks.js';

/** One subject of the page: the node, a pod, a pod's network or a container. */
export interface CadvisorSubject {
  readonly labels: {
    readonly container: string;
    /** The path of its cgroup, else the runtime's id. */
    readonly id: string;
    readonly image: string;
    /** The runtime's id. */
    readonly name: string;
    readonly namespace: string;
    readonly pod: string;
  };
  readonly facts: ContainerFacts | undefined;
  readonly network: readonly InterfaceUsage[];
}

/** What {@link renderCadvisorPage} makes the page of. */
export interface CadvisorScene {
  readonly look: UsageLook;
  readonly subjects: readonly CadvisorSubject[];
  readonly machine: MachineFacts;
  /** Undefined where the runtime makes none. */
  readonly runtimeMetrics: RuntimeMetrics | undefined;
}

/** A sample with all of its labels. */
interface Written {
  readonly labels: Labels;
  readonly value: number;
  readonly atMs: number | undefined;
}

/** cAdvisor tells of each core by this label, and of all together if it is not asked to. */
const ALL_CORES: Labels = { cpu: 'total' };
const CPU_TOTAL = 'container_cpu_usage_seconds_total';

/** Writes the page. When the runtime did not tell of pods, the node's part is there, and the error is 1. */
export async function renderCadvisorPage(scene: CadvisorScene): Promise<string> {
  const { look, subjects, machine, runtimeMetrics } = scene;
  const text = new PromText();
  const taken = new TakenOver(runtimeMetrics);
  for (const metric of [...CONTAINER_METRICS, ...NETWORK_METRICS].sort(byName)) {
    const family = { name: metric.name, type: metric.type, help: metric.help };
    text.begin(family);
    const told = new Set<string>();
    for (const subject of subjects) {
      const samples = samplesOf(metric, subject, look.atMs);
      if (samples.length > 0) told.add(subjectKey(subject.labels));
      let isFull = false;
      for (const { labels, value, atMs } of samples) isFull = text.sample(labels, value, atMs) || isFull;
      if (isFull) await text.nextSlice();
    }
    for (const { labels, value, atMs } of taken.take(metric.name)) {
      if (told.has(subjectKey(labels))) continue;
      if (text.sample(labels, value, atMs)) await text.nextSlice();
    }
  }
  for (const { family, samples } of taken.rest()) {
    text.begin(family);
    for (const { labels, value, atMs } of samples) {
      if (text.sample(labels, value, atMs)) await text.nextSlice();
    }
  }
  const failed = look.problem === undefined ? 0 : 1;
  text.begin({ name: 'container_scrape_error', type: 'gauge', help: '1 if pods could not be read, else 0.' });
  text.sample({}, failed);
  for (const { family, labels, value } of machineMetrics(machine, look.node.memory)) {
    text.begin(family);
    text.sample(labels, value, look.atMs);
  }
  text.begin({
    name: 'machine_scrape_error',
    type: 'gauge',
    help: '1 if the machine could not be read, else 0.',
  });
  text.sample({}, look.node.memory === undefined ? 1 : 0);
  return text.toString();
}

type AnyMetric = (typeof CONTAINER_METRICS)[number] | (typeof NETWORK_METRICS)[number];

function samplesOf(metric: AnyMetric, { labels, facts, network }: CadvisorSubject, atMs: number): Written[] {
  // A metric is of one of the two kinds; which, is told by its name.
  if (metric.name.startsWith('container_network_')) {
    return write(metric as UsageMetric<readonly InterfaceUsage[]>, labels, network, atMs);
  }
  return facts === undefined ? [] : write(metric as UsageMetric<ContainerFacts>, labels, facts, atMs);
}

function write<F>(
  { name, labels: keys, divisor, read }: UsageMetric<F>,
  common: CadvisorSubject['labels'],
  facts: F,
  atMs: number,
): Written[] {
  return read(facts).flatMap(({ value, labels }) => {
    if (value === undefined) return [];
    const own = Object.fromEntries(keys.map((key, index) => [key, labels[index] ?? '']));
    const all = { ...common, ...own, ...(name === CPU_TOTAL ? ALL_CORES : {}) };
    return [{ labels: all, value: Number(value) / Number(divisor), atMs }];
  });
}

/** The runtime's own metrics by name, each given away once. */
class TakenOver {
  readonly #descriptors: RuntimeMetrics['descriptors'];
  readonly #byName = new Map<string, RuntimeSample[]>();

  constructor(metrics: RuntimeMetrics | undefined) {
    this.#descriptors = metrics?.descriptors ?? new Map<string, never>();
    for (const sample of metrics?.samples ?? []) {
      // Names come from a peer: one that Prometheus does not know as such would spoil the page.
      if (!/^(container|machine)_[a-z0-9_]+$/.test(sample.name) || !this.#descriptors.has(sample.name))
        continue;
      const known = this.#byName.get(sample.name);
      if (known === undefined) this.#byName.set(sample.name, [sample]);
      else known.push(sample);
    }
  }

  take(name: string): Written[] {
    const samples = this.#byName.get(name) ?? [];
    this.#byName.delete(name);
    const keys = (this.#descriptors.get(name)?.labelKeys ?? []).filter((key) =>
      /^[a-z_][a-z0-9_]*$/i.test(key),
    );
    return samples.map(({ labelValues, value, atMs }) => ({
      labels: {
        ...Object.fromEntries(keys.map((key, index) => [key, labelValues[index] ?? ''])),
        ...(name === CPU_TOTAL ? ALL_CORES : {}),
      },
      value,
      atMs,
    }));
  }

  /** Those of which this program knows nothing. */
  rest(): { readonly family: Family; readonly samples: Written[] }[] {
    return [...this.#byName].map(([name, [first]]) => ({
      family: { name, type: first?.type ?? 'gauge', help: this.#descriptors.get(name)?.help ?? '' },
      samples: this.take(name),
    }));
  }
}

/** Whom a sample is about, whatever its id is called. */
function subjectKey({ container = '', namespace = '', pod = '' }: Labels): string {
  return `${namespace}/${pod}/${container}`;
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}
