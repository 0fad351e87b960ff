/**
 * The page `/metrics/cadvisor`: the usage of the node, its pods and their containers, with cAdvisor's names
 * and labels.
 *
 * In: a snapshot of usage, the machine's cgroups, and the runtime's own metrics. Out: text. A readable cgroup
 * comes first, as it is the most complete and exact source; then the runtime's statistics; then what only the
 * runtime's own metrics have. It assumes that any of these may be missing.
 *
 * Source: https://github.com/google/cadvisor/blob/master/docs/storage/prometheus.md
 *
 * @module
 */
import { type RuntimeMetrics, type RuntimeSample } from '#watch';
import { writeLabels } from '#base/text/metrics-lines.js';
import {
  CONTAINER_METRICS,
  type ContainerFacts,
  NETWORK_METRICS,
} from '#base/proc/usage/container-metrics.js';
import { type InterfaceUsage } from '#base/proc/usage/network-usage.js';
import { COMMON_LABELS, type UsageMetric, type UsageSample } from '#base/proc/usage/usage-metric.js';
import { type MeasuredAt } from './group-facts.js';
import { type MachineFacts, machineMetrics } from './machine-stats.js';
import { type Family, type Labels, PromText } from './prom-text.js';
import { type UsageLook } from './usage-looks.js';
import { SliceYielder } from '#base/async/slices.js';

/** One subject of the page: the node, a pod with its network, or a container. */
export interface CadvisorSubject {
  /** The id of the sandbox or container; empty for the node. */
  readonly runtimeId: string;
  readonly labels: {
    readonly container: string;
    /** The path of its cgroup, otherwise the runtime's id. */
    readonly id: string;
    readonly image: string;
    /** The runtime's id. */
    readonly name: string;
    readonly namespace: string;
    readonly pod: string;
  };
  readonly facts: ContainerFacts;
  readonly atMs: MeasuredAt;
  /** Undefined if it has none of its own. */
  readonly network: { readonly interfaces: readonly InterfaceUsage[]; readonly atMs: number } | undefined;
}

/** Inputs of {@link renderCadvisorPage}. */
export interface CadvisorHarness {
  readonly look: UsageLook;
  readonly subjects: readonly CadvisorSubject[];
  readonly machine: MachineFacts;
  /** Undefined if the runtime has none. */
  readonly runtimeMetrics: RuntimeMetrics | undefined;
}

/** cAdvisor uses this label for each core, and by default for all together. */
const ALL_CORES: Labels = { cpu: 'total' };
const NO_LABELS: Labels = {};
const NETWORK = 'container_network_';
const CPU_TOTAL = 'container_cpu_usage_seconds_total';
const CONTAINER_ERROR: Family = {
  ...{ name: 'container_scrape_error', type: 'gauge' },
  help: '1 if pods could not be read, else 0.',
};
const MACHINE_ERROR: Family = {
  ...{ name: 'machine_scrape_error', type: 'gauge' },
  help: '1 if the machine could not be read, else 0.',
};

type AnyMetric = (typeof CONTAINER_METRICS)[number] | (typeof NETWORK_METRICS)[number];

const METRICS: readonly AnyMetric[] = [...CONTAINER_METRICS, ...NETWORK_METRICS].sort((one, other) =>
  one.name < other.name ? -1 : 1,
);

const METRIC_OF: ReadonlyMap<string, AnyMetric> = new Map(METRICS.map((metric) => [metric.name, metric]));

/** Writes the page. If the runtime did not report pods, it has only the node's part, and the error is 1. */
export async function renderCadvisorPage(
  scene: CadvisorHarness,
  signal?: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const { look, machine, runtimeMetrics } = scene;
  const text = new PromText();
  const writer = new SubjectWriter(text, scene);
  const ofMachine = machineMetrics(machine, look.node.memory);
  const own = [CONTAINER_ERROR, MACHINE_ERROR, ...ofMachine.map(({ family }) => family)];
  const ofRuntime = await sortRuntimeSamples(
    runtimeMetrics,
    own.map(({ name }) => name),
    (subjectId, name) => writer.lacks(subjectId, name),
    signal,
  );
  for (const metric of METRICS) {
    const { name, type, help } = metric;
    text.begin({ name, type, help });
    await writer.writeOwn(metric);
    await writer.writeRuntime(name, ofRuntime.get(name));
    ofRuntime.delete(name);
  }
  for (const [name, family] of ofRuntime) {
    text.begin({ name, type: family.type, help: family.help });
    await writer.writeRuntime(name, family);
  }
  text.begin(CONTAINER_ERROR);
  text.sample({}, look.problem === undefined ? 0 : 1);
  for (const { family, labels, value } of ofMachine) {
    text.begin(family);
    text.sample(labels, value, look.node.atMs);
  }
  text.begin(MACHINE_ERROR);
  text.sample({}, look.node.memory === undefined ? 1 : 0);
  return text.end();
}

/** Writes samples about subjects; the labels of each are formatted once. */
class SubjectWriter {
  readonly #text: PromText;
  readonly #subjects: readonly (CadvisorSubject & { readonly text: string })[];
  readonly #byId: ReadonlyMap<string, CadvisorSubject & { readonly text: string }>;
  /**
   * Whether the list of subjects is complete: others that the runtime reports have ended or were replaced.
   */
  readonly #isWhole: boolean;

  constructor(text: PromText, { subjects, look }: CadvisorHarness) {
    this.#text = text;
    this.#subjects = subjects.map((subject) => ({ ...subject, text: writeCommon(subject) }));
    const known = this.#subjects.filter(({ runtimeId }) => runtimeId !== '');
    this.#byId = new Map(known.map((subject) => [subject.runtimeId, subject]));
    this.#isWhole = look.problem === undefined;
  }

  /** Whether only the runtime has a metric of that name for a subject of the page. */
  lacks(subjectId: string, name: string): boolean {
    const subject = this.#byId.get(subjectId);
    if (subject === undefined) return !this.#isWhole;
    const metric = METRIC_OF.get(name);
    return metric === undefined || !readSamples(metric, subject).some(({ value }) => value !== undefined);
  }

  /** Writes measured values. */
  async writeOwn(metric: AnyMetric): Promise<void> {
    const { name, labels: keys, divisor } = metric;
    const common = writeLabels(moreLabels(name));
    const more = common === '' ? '' : `,${common}`;
    const unit = Number(divisor);
    const source = sourceOf(name);
    for (const subject of this.#subjects) {
      let isFull = false;
      for (const { value, labels } of readSamples(metric, subject)) {
        if (value === undefined) continue;
        const number = Number(value) / unit;
        const atMs = source === 'network' ? subject.network?.atMs : subject.atMs[source];
        const isLast =
          keys.length === 0
            ? this.#text.lineOfItsOwn(`${subject.text}${more}`, number, atMs)
            : this.#text.line(`${subject.text},${writeLabels(toLabels(keys, labels))}`, number, atMs);
        isFull ||= isLast;
      }
      if (isFull) await this.#text.nextSlice();
    }
  }

  /** Writes the runtime's values. */
  async writeRuntime(name: string, family: RuntimeFamily | undefined): Promise<void> {
    if (family === undefined) return;
    const more = moreLabels(name);
    for (const sample of family.samples) {
      const { subjectId, value, atMs } = sample;
      const known = this.#byId.get(subjectId)?.text;
      const own = known === undefined ? family.allLabels(sample) : family.ownLabels(sample);
      const parts = [known ?? '', writeLabels({ ...more, ...own })].filter((part) => part !== '');
      if (this.#text.line(parts.join(','), value, atMs)) await this.#text.nextSlice();
    }
  }
}

/** In the common order of all samples, whoever created the labels. */
function writeCommon({ labels }: CadvisorSubject): string {
  return writeLabels(Object.fromEntries(COMMON_LABELS.map((name) => [name, labels[name]])));
}

function readSamples(metric: AnyMetric, { facts, network }: CadvisorSubject): readonly UsageSample[] {
  // The `container_network_` prefix separates network metrics from container metrics.
  if (!metric.name.startsWith(NETWORK)) return (metric as UsageMetric<ContainerFacts>).read(facts);
  const { read } = metric as UsageMetric<readonly InterfaceUsage[]>;
  return network === undefined ? [] : read(network.interfaces);
}

/** The source of a metric; each has its own time of measurement. */
function sourceOf(name: string): keyof MeasuredAt | 'network' {
  if (name.startsWith(NETWORK)) return 'network';
  if (name.startsWith('container_cpu_')) return 'cpu';
  if (name.startsWith('container_memory_')) return 'memory';
  return name === 'container_fs_usage_bytes' ? 'writable' : 'rest';
}

function moreLabels(name: string): Labels {
  return name === CPU_TOTAL ? ALL_CORES : NO_LABELS;
}

function toLabels(keys: readonly string[], values: readonly string[]): Labels {
  return Object.fromEntries(keys.map((key, index) => [key, values[index] ?? '']));
}

/** A metric of the runtime. */
interface RuntimeFamily {
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
async function sortRuntimeSamples(
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
