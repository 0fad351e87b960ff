import { findBootSeconds, findSoftLimit, splitStatLine, TICK_MS } from '#base/proc/proc-text.js';
import { type DirectionUsage, parseNetDev } from '#base/proc/usage/network-usage.js';
import { readdir, readFile } from 'node:fs/promises';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The facts about this process; undefined where the kernel does not report them. */
export interface ProcessFacts {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number | undefined;
  readonly virtualLimitBytes: number | undefined;
  readonly openFiles: number | undefined;
  readonly openFilesLimit: number | undefined;
  readonly startedAtSeconds: number | undefined;
  readonly bootedAtSeconds: number | undefined;
  readonly receivedBytes: number | undefined;
  readonly sentBytes: number | undefined;
}

/** Options of {@link addProcessMetrics}. */
export interface ProcessMetricsOptions {
  /** Reads the kernel's facts (default: of this process). */
  readonly readFacts?: () => Promise<ProcessFacts>;
}

const FAMILIES = [
  ['counter', 'process_cpu_seconds_total', 'CPU time that the agent has used.', 'cpuSeconds'],
  ['gauge', 'process_resident_memory_bytes', 'Memory of the agent that is resident.', 'residentBytes'],
  ['gauge', 'process_virtual_memory_bytes', 'Address space of the agent.', 'virtualBytes'],
  [
    'gauge',
    'process_virtual_memory_max_bytes',
    'The most address space that the agent may have; 2^64 - 1 without a limit.',
    'virtualLimitBytes',
  ],
  ['gauge', 'process_open_fds', 'Files that the agent has open.', 'openFiles'],
  ['gauge', 'process_max_fds', 'Files that the agent may have open.', 'openFilesLimit'],
  [
    'counter',
    'process_network_receive_bytes_total',
    'Bytes that came in on the network that the agent is in.',
    'receivedBytes',
  ],
  [
    'counter',
    'process_network_transmit_bytes_total',
    'Bytes that went out on the network that the agent is in.',
    'sentBytes',
  ],
] as const;

/** Reports what the agent itself uses, under the usual names of client libraries. */
export function addProcessMetrics(
  registry: MetricsRegistry,
  { readFacts = readProcessFacts }: ProcessMetricsOptions = {},
): void {
  let facts: ProcessFacts | undefined;
  registry.beforeScrape(async () => {
    facts = await readFacts();
  });
  for (const [type, name, help, field] of FAMILIES) {
    const read = (): number | undefined => facts?.[field];
    if (type === 'counter') registry.readCounter({ name, help }, read);
    else registry.readGauge({ name, help }, read);
  }
  addStartTime(registry, () => facts);
  registry.readGauge(
    {
      name: 'kubelet_node_startup_pre_kubelet_duration_seconds',
      help: 'From the start of the machine until the agent was started.',
    },
    () => {
      const { startedAtSeconds, bootedAtSeconds } = facts ?? {};
      if (startedAtSeconds === undefined || bootedAtSeconds === undefined) return undefined;
      return startedAtSeconds - bootedAtSeconds;
    },
  );
}

/** Only the start time, which a page of counters needs: it shows readers that the counters began again. */
export function addProcessStartTime(
  registry: MetricsRegistry,
  { readFacts = readProcessFacts }: ProcessMetricsOptions = {},
): void {
  let facts: ProcessFacts | undefined;
  registry.beforeScrape(async () => {
    facts ??= await readFacts();
  });
  addStartTime(registry, () => facts);
}

function addStartTime(registry: MetricsRegistry, facts: () => ProcessFacts | undefined): void {
  registry.readGauge(
    { name: 'process_start_time_seconds', help: 'When the agent was started, in seconds since the epoch.' },
    () => facts()?.startedAtSeconds,
  );
}

/** Reads /proc of this process. Unreadable values are left out. */
export async function readProcessFacts(): Promise<ProcessFacts> {
  const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
  const [stat, limits, machine, network, files] = await Promise.all([
    read('/proc/self/stat'),
    read('/proc/self/limits'),
    read('/proc/stat'),
    read('/proc/self/net/dev'),
    // Without the folder itself, which is open while it is read.
    readdir('/proc/self/fd').then(
      (entries) => entries.length - 1,
      () => undefined,
    ),
  ]);
  const line = splitStatLine(stat);
  const numberAt = (field: number): number | undefined => {
    const text = line?.field(field);
    return text === undefined ? undefined : Number(text);
  };
  const startedTicks = numberAt(22);
  const { user, system } = process.cpuUsage();
  const bootedAtSeconds = findBootSeconds(machine);
  const isKnown = bootedAtSeconds !== undefined && startedTicks !== undefined;
  return {
    ...{ virtualBytes: numberAt(23), bootedAtSeconds, openFiles: files },
    cpuSeconds: (user + system) / 1e6,
    residentBytes: process.memoryUsage.rss(),
    virtualLimitBytes: toMetric(findSoftLimit(limits, 'Max address space')),
    openFilesLimit: toMetric(findSoftLimit(limits, 'Max open files')),
    startedAtSeconds: isKnown ? bootedAtSeconds + (startedTicks * TICK_MS) / 1_000 : undefined,
    ...sumNetworkBytes(network),
  };
}

/** The bytes over all interfaces in /proc/PID/net/dev. */
export function sumNetworkBytes(text: string): Pick<ProcessFacts, 'receivedBytes' | 'sentBytes'> {
  const devices = parseNetDev(text);
  if (devices.length === 0) return { receivedBytes: undefined, sentBytes: undefined };
  const [received, sent] = [devices.map((each) => each.received), devices.map((each) => each.sent)];
  const sum = (all: readonly DirectionUsage[]): number =>
    all.reduce((total, { bytes }) => total + Number(bytes), 0);
  return { receivedBytes: sum(received), sentBytes: sum(sent) };
}

/** Like Go's clients, which have no infinity in an unsigned number. */
function toMetric(limit: number | undefined): number | undefined {
  return limit === Infinity ? 2 ** 64 : limit;
}
