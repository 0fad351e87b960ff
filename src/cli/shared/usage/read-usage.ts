import { type Clock } from '#base/time/clock.js';
import { type AgentClient } from '../api/agent-client.js';
import { ApiError } from '../api/api-status.js';

/** What a container, a pod or the node uses. What is not known is undefined. */
export interface Usage {
  /** In billionths of a CPU, over the last seconds. */
  readonly nanoCores: number | undefined;
  /** The working set. */
  readonly memoryBytes: number | undefined;
  readonly processes: number | undefined;
  readonly readBytes: number | undefined;
  readonly writtenBytes: number | undefined;
}

export interface ContainerUsage extends Usage {
  readonly name: string;
}

export interface PodUsage extends Usage {
  readonly namespace: string;
  readonly name: string;
  readonly receivedBytes: number | undefined;
  readonly sentBytes: number | undefined;
  readonly containers: readonly ContainerUsage[];
  /** When its CPU or memory was measured, in milliseconds since the epoch; undefined when neither is known. */
  readonly atMs: number | undefined;
}

/** What an agent knows at one time. */
export interface UsageReading {
  readonly node: Usage & { readonly name: string };
  /** By the clock of the node; undefined when nothing of the node is known. */
  readonly atMs: number | undefined;
  readonly pods: readonly PodUsage[];
}

/** The part of a kubelet's Summary that is read. */
interface Summary {
  readonly node?: Stats & { readonly nodeName?: string };
  readonly pods?: readonly PodStats[];
}

interface Stats {
  readonly cpu?: {
    readonly time?: string;
    readonly usageNanoCores?: number;
    readonly usageCoreNanoSeconds?: number;
  };
  readonly memory?: { readonly time?: string; readonly workingSetBytes?: number };
}

interface PodStats extends Stats {
  readonly podRef?: { readonly namespace?: string; readonly name?: string };
  readonly containers?: readonly (Stats & { readonly name?: string })[];
  readonly network?: { readonly rxBytes?: number; readonly txBytes?: number };
  readonly process_stats?: { readonly process_count?: number };
}

/** Runtimes measure every ten seconds; what is older than two of these is worth a word. */
const OLD_MS = 25_000;

/** A line about numbers of these pods that are old, as while the runtime does not answer; undefined when none is. */
export function describeOldNumbers(
  { atMs: nowMs }: Pick<UsageReading, 'atMs'>,
  pods: readonly Pick<PodUsage, 'atMs'>[],
): string | undefined {
  const ages = pods.flatMap(({ atMs }) => (atMs === undefined || nowMs === undefined ? [] : nowMs - atMs));
  const old = ages.filter((age) => age > OLD_MS);
  if (old.length === 0) return undefined;
  const whose = old.length === 1 ? '1 pod' : `${old.length} pods`;
  return `The numbers of ${whose} are up to ${Math.round(Math.max(...old) / 1_000)}s old: the runtime has not measured since`;
}

/** An agent answers with the same numbers for a second. */
const BETWEEN_MS = 1_200;

/**
 * Reads what the pods of an agent use, again and again. CPU is over the time since the reading before; only the first
 * one takes a second longer, where the agent does not know it from an earlier question.
 */
export class UsageReader {
  readonly #client: AgentClient;
  readonly #clock: Clock;
  #last: Summary | undefined;

  constructor(client: AgentClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** `withDisks`: also what was read from disks and written to them, which costs the agent more. */
  async read({ withDisks = false } = {}): Promise<UsageReading> {
    let summary = await this.#ask();
    if (this.#last === undefined && !knowsCpu(summary)) {
      this.#last = summary;
      await this.#clock.sleep(BETWEEN_MS, this.#client.signal);
      // A busy agent has answered once: all but the CPU is known.
      summary = await this.#ask().catch((error: unknown) => orIfBusy(error, summary));
    }
    const before = indexCpu(this.#last);
    this.#last = summary;
    const disks = withDisks
      ? await this.#askForDisks().catch((error: unknown) => orIfBusy(error, NO_DISKS))
      : NO_DISKS;
    const { node = {}, pods = [] } = summary;
    return {
      node: { ...toUsage(node, '', before, undefined), name: node.nodeName ?? '' },
      atMs: timeOf(node),
      pods: pods.map((pod) => toPodUsage(pod, before, disks)),
    };
  }

  async #ask(): Promise<Summary> {
    return (await this.#client.send('GET', '/stats/summary')).object as Summary;
  }

  async #askForDisks(): Promise<DiskCounts> {
    const answer = await this.#client.open('GET', '/metrics/cadvisor');
    let text = '';
    for await (const piece of this.#client.read(answer)) text += piece.toString('utf8');
    return readDiskCounts(text);
  }
}

/** Whether an agent has not managed to answer in time. */
export function isBusy(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'Timeout';
}

function orIfBusy<T>(error: unknown, otherwise: T): T {
  if (isBusy(error)) return otherwise;
  throw error;
}

function timeOf({ cpu = {}, memory = {} }: Stats): number | undefined {
  const atMs = Date.parse(cpu.time ?? memory.time ?? '');
  return Number.isNaN(atMs) ? undefined : atMs;
}

function knowsCpu({ pods = [] }: Summary): boolean {
  return pods.every(({ cpu }) => cpu === undefined || cpu.usageNanoCores !== undefined);
}

type CpuCounts = ReadonlyMap<string, { readonly atMs: number; readonly totalNs: number }>;

/** The CPU time of every pod and container, by a key of its names. */
function indexCpu(summary: Summary | undefined): CpuCounts {
  const found = new Map<string, { atMs: number; totalNs: number }>();
  const add = (key: string, { cpu }: Stats): void => {
    const { time, usageCoreNanoSeconds: totalNs } = cpu ?? {};
    if (time !== undefined && totalNs !== undefined) found.set(key, { atMs: Date.parse(time), totalNs });
  };
  add('', summary?.node ?? {});
  for (const pod of summary?.pods ?? []) {
    add(keyOf(pod), pod);
    for (const container of pod.containers ?? []) add(keyOf(pod, container.name), container);
  }
  return found;
}

function keyOf({ podRef = {} }: PodStats, container = ''): string {
  return `${podRef.namespace ?? ''}/${podRef.name ?? ''}/${container}`;
}

function toPodUsage(pod: PodStats, before: CpuCounts, disks: DiskCounts): PodUsage {
  const { podRef = {}, containers = [], network = {}, process_stats: processes } = pod;
  const found = containers.map((container): ContainerUsage => {
    const key = keyOf(pod, container.name);
    return { ...toUsage(container, key, before, disks.get(key)), name: container.name ?? '' };
  });
  const usage = toUsage(pod, keyOf(pod), before, undefined);
  return {
    ...usage,
    ...{ namespace: podRef.namespace ?? '', name: podRef.name ?? '', containers: found, atMs: timeOf(pod) },
    processes: processes?.process_count ?? sumOf(found, 'processes'),
    readBytes: sumOf(found, 'readBytes'),
    writtenBytes: sumOf(found, 'writtenBytes'),
    ...{ receivedBytes: network.rxBytes, sentBytes: network.txBytes },
  };
}

function toUsage(
  { cpu = {}, memory = {} }: Stats,
  key: string,
  before: CpuCounts,
  disk: Partial<Usage> | undefined,
): Usage {
  const earlier = before.get(key);
  const passedMs = Date.parse(cpu.time ?? '') - (earlier?.atMs ?? NaN);
  const usedNs = (cpu.usageCoreNanoSeconds ?? NaN) - (earlier?.totalNs ?? NaN);
  // A container that was restarted counts from zero again.
  const isRate = passedMs > 0 && usedNs >= 0;
  return {
    nanoCores: isRate ? Math.round((usedNs / passedMs) * 1_000) : cpu.usageNanoCores,
    memoryBytes: memory.workingSetBytes,
    processes: disk?.processes,
    readBytes: disk?.readBytes,
    writtenBytes: disk?.writtenBytes,
  };
}

function sumOf(
  usages: readonly Usage[],
  name: 'processes' | 'readBytes' | 'writtenBytes',
): number | undefined {
  const known = usages.flatMap((usage) => usage[name] ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
}

type DiskCounts = ReadonlyMap<string, Partial<Usage>>;
const NO_DISKS: DiskCounts = new Map();
const DISK_METRICS = {
  container_fs_reads_bytes_total: 'readBytes',
  container_fs_writes_bytes_total: 'writtenBytes',
  container_processes: 'processes',
} as const;

/** The counts of containers from a page of cAdvisor's metrics, summed over all disks, by a key of their names. */
function readDiskCounts(page: string): DiskCounts {
  const found = new Map<string, { -readonly [Name in keyof Usage]?: number }>();
  const sample = /^(container_fs_(?:reads|writes)_bytes_total|container_processes)\{(.*)\} (\S+)/gm;
  for (const [, metric = '', labels = '', value = ''] of page.matchAll(sample)) {
    const [container, namespace, pod] = ['container', 'namespace', 'pod'].map((name) =>
      findLabel(labels, name),
    );
    if (container === '' || !Number.isFinite(Number(value))) continue;
    const counts = found.get(`${namespace}/${pod}/${container}`) ?? {};
    const name = DISK_METRICS[metric as keyof typeof DISK_METRICS];
    counts[name] = (counts[name] ?? 0) + Number(value);
    found.set(`${namespace}/${pod}/${container}`, counts);
  }
  return found;
}

function findLabel(labels: string, name: string): string {
  return new RegExp(`(?:^|,)${name}="([^"\\\\]*)"`).exec(labels)?.[1] ?? '';
}
