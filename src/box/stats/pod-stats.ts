import { type ContainerStats, type PodSandboxStats } from '#watch/messages';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { SliceYielder } from '#base/async/slices.js';
import { type Container } from '../container/container.js';
import { type NanoClock } from '../nano-clock.js';
import { processAgeMs } from '../process/boot-ticks.js';
import { findProcess } from '../process/child-identity.js';
import { membersOf, type ProcessEntry, type ProcessTable } from '../process/process-table.js';
import { type Sandbox } from '../pods/sandbox.js';
import { type Cgroups } from '../cgroups/cgroups.js';
import { type GroupUsage, type UsageDetail } from '#base/proc/usage/group-usage.js';
import { type InterfaceUsage, readNetworkUsage } from '#base/proc/usage/network-usage.js';
import { sumProcessUsage } from '#base/proc/usage/process-usage.js';
import {
  NO_USAGE_MESSAGES,
  toFilesystemUsage,
  toNetworkUsage,
  toUsageMessages,
  type UsageMessages,
  type WritableUsage,
} from './stats-messages.js';
import { UsageRates } from '#base/proc/usage/usage-rates.js';
import { WritableUsages } from './writable-usages.js';

/** What {@link PodStats} needs. */
export interface PodStatsOptions {
  readonly cgroups: Cgroups;
  readonly processes: ProcessTable;
  readonly clock: Clock;
  readonly time: NanoClock;
  readonly logger: Logger;
  /** Named as the file system of containers that have no files of their own. */
  readonly rootDir: string;
  /** What a container has written; may take long, is asked for in the background. */
  readonly measureWritable: (containerId: string) => Promise<WritableUsage>;
  /** A process in the sandbox's own network; undefined where the network is the host's. */
  readonly findNetworkPid: (sandbox: Sandbox) => number | undefined;
}

/** A sandbox with its containers. */
export interface PodOfStats {
  readonly sandbox: Sandbox;
  readonly containers: readonly Container[];
}

/** What was measured of a container before it becomes a message. */
export interface MeasuredContainer {
  readonly container: Container;
  /** Undefined unless it runs, and when it has too many processes to read. */
  readonly usage: GroupUsage | undefined;
  /** Its processes; undefined unless they were asked for. */
  readonly pids: readonly number[] | undefined;
  readonly writable: WritableUsage | undefined;
}

/** Containers between two turns of the event loop: each is a dozen small files. */
const CONTAINERS_PER_SLICE = 8;
/**
 * How long the processes of one container are looked at: enough for a thousand. One that forks without end must not
 * keep the statistics of all others waiting.
 */
const PROCESSES_MS = 250;
/** The same for the list of all processes, when there is no cgroup to ask. */
const TABLE_MS = 2_000;

/**
 * Statistics of pods and containers: from cgroups, and from /proc where a container has none.
 *
 * Nothing is measured unless somebody asks. One question about many looks at the list of processes once at most,
 * and only if a container without a cgroup is among them.
 */
export class PodStats {
  readonly #options: PodStatsOptions;
  readonly #rates = new UsageRates();
  readonly #writables: WritableUsages;

  constructor(options: PodStatsOptions) {
    this.#options = options;
    this.#writables = new WritableUsages(options);
  }

  /** CRI's ContainerStats. One that does not run has neither CPU nor memory. */
  async ofContainers(containers: readonly Container[]): Promise<ContainerStats[]> {
    const measured = await this.measure(containers);
    return measured.map((each) => this.#toContainerStats(each));
  }

  /** CRI's PodSandboxStats, each with the statistics of its containers. */
  async ofPods(pods: readonly PodOfStats[]): Promise<PodSandboxStats[]> {
    const measured = await this.measure(pods.flatMap(({ containers }) => containers));
    const slices = new SliceYielder({ itemsPerSlice: CONTAINERS_PER_SLICE });
    const stats: PodSandboxStats[] = [];
    for (const { sandbox, measured: containers } of splitByPod(pods, measured)) {
      stats.push(this.#toPodStats(sandbox, containers));
      if (slices.isFull()) await slices.nextSlice();
    }
    return stats;
  }

  /**
   * Measures containers, without making messages of it.
   *
   * @param detail for metrics, the processes of those that run are named, too.
   */
  async measure(
    containers: readonly Container[],
    detail: UsageDetail = 'stats',
  ): Promise<MeasuredContainer[]> {
    const writables = await this.#writables.find(containers.map(({ id }) => id));
    const slices = new SliceYielder({ itemsPerSlice: CONTAINERS_PER_SLICE });
    const measured: MeasuredContainer[] = [];
    let table: Promise<readonly ProcessEntry[] | undefined> | undefined;
    const listProcesses = () => (table ??= this.#listProcesses());
    for (const container of containers) {
      const found = container.running ? await this.#measureOne(container, detail, listProcesses) : NOTHING;
      measured.push({ container, ...found, writable: writables.get(container.id) });
      if (slices.isFull()) await slices.nextSlice();
    }
    return measured;
  }

  /** Tells when the time is over that the processes of one container may take; see {@link PROCESSES_MS}. */
  startLimit(): () => boolean {
    const { clock } = this.#options;
    const end = clock.monotonicMs() + PROCESSES_MS;
    return () => clock.monotonicMs() >= end;
  }

  async #measureOne(
    container: Container,
    detail: UsageDetail,
    listProcesses: () => Promise<readonly ProcessEntry[] | undefined>,
  ): Promise<Pick<MeasuredContainer, 'usage' | 'pids'>> {
    const cgroup = this.#options.cgroups.findContainer(container.record.sandboxId, container.id);
    const usage = cgroup.usage(detail);
    const isWhole = usage?.cpu !== undefined && usage.memory !== undefined;
    if (isWhole && detail === 'stats') return { usage, pids: undefined };
    const pids =
      usage === undefined
        ? membersOf((await listProcesses()) ?? [], container.id, findProcess(container.pid)).map(
            ({ pid }) => pid,
          )
        : await cgroup.members();
    // A running container has a process: if none was found, the scan was incomplete.
    const isKnown = !isWhole && pids.length > 0;
    const sum = isKnown ? await sumProcessUsage(pids, this.startLimit()) : undefined;
    return { usage: usage === undefined || sum === undefined ? (usage ?? sum) : complete(usage, sum), pids };
  }

  async #listProcesses(): Promise<readonly ProcessEntry[] | undefined> {
    const { processes, clock } = this.#options;
    const over = new AbortController();
    const limit = clock.sleep(TABLE_MS, over.signal).then(
      () => undefined,
      () => undefined,
    );
    try {
      return await Promise.race([processes.scan(), limit]);
    } finally {
      over.abort();
    }
  }

  /** What a pod uses: its own group, or the sum of its containers. */
  usageOf(sandbox: Sandbox, containers: readonly MeasuredContainer[]): GroupUsage | undefined {
    const own = this.#options.cgroups.podUsage(sandbox.id);
    if (own?.cpu !== undefined) return own;
    // A sum over some of them would let counters go backwards.
    if (containers.some(({ container, usage }) => container.running && usage === undefined)) return undefined;
    return sumUsage(containers.flatMap(({ usage }) => usage ?? []));
  }

  /** The interfaces of a pod's own network; none where it is the host's. */
  networkOf(sandbox: Sandbox): readonly InterfaceUsage[] {
    const pid = this.#options.findNetworkPid(sandbox);
    return pid === undefined ? [] : readNetworkUsage(pid);
  }

  #toPodStats(sandbox: Sandbox, containers: readonly MeasuredContainer[]): PodSandboxStats {
    const { time } = this.#options;
    const { config, id, record } = sandbox;
    const { cpu, memory, io, process } = this.#toMessages(
      id,
      this.usageOf(sandbox, containers),
      Number(time.now() - record.createdAtNs) / 1e6,
    );
    const network = toNetworkUsage(this.networkOf(sandbox), time.now());
    return {
      attributes: attributesOf(id, config),
      linux: {
        cpu,
        memory,
        io,
        process,
        network,
        containers: containers.map((each) => this.#toContainerStats(each)),
      },
      windows: undefined,
    };
  }

  #toContainerStats({ container, usage, writable }: MeasuredContainer): ContainerStats {
    const { config, id } = container.record;
    // Since the process began its set-up: what that took of the CPU is counted, too.
    const ageMs = container.main && processAgeMs(container.main);
    const { cpu, memory, swap, io } = this.#toMessages(id, usage, ageMs);
    return {
      attributes: attributesOf(id, config),
      cpu,
      memory,
      swap,
      io,
      writableLayer: writable && toFilesystemUsage(writable, this.#options.rootDir),
    };
  }

  #toMessages(key: string, usage: GroupUsage | undefined, ageMs: number | undefined): UsageMessages {
    if (usage === undefined) return NO_USAGE_MESSAGES;
    const { clock, time } = this.#options;
    const now = time.now();
    const rate = usage.cpu && this.#rates.compute(key, usage.cpu.totalNs, clock.monotonicMs(), ageMs);
    return toUsageMessages(usage, now, rate);
  }
}

/** What containers and sandboxes say of themselves. */
interface Described<M> {
  readonly metadata: M | undefined;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

function attributesOf<M>(id: string, config: Described<M>): Described<M> & { readonly id: string } {
  const { metadata, labels, annotations } = config;
  return { id, metadata, labels, annotations };
}

/** The measured containers of each pod; `measured` is in the order of the pods' containers. */
export function splitByPod(
  pods: readonly PodOfStats[],
  measured: readonly MeasuredContainer[],
): { readonly sandbox: Sandbox; readonly measured: readonly MeasuredContainer[] }[] {
  let at = 0;
  return pods.map(({ sandbox, containers }) => ({
    sandbox,
    measured: measured.slice(at, (at += containers.length)),
  }));
}

const NOTHING = { usage: undefined, pids: undefined };

/** Where a cgroup lacks a controller, the numbers come from its processes. */
function complete(usage: GroupUsage, sum: GroupUsage): GroupUsage {
  const { cpu = sum.cpu, memory = sum.memory, pids = sum.pids } = usage;
  return { ...usage, cpu, memory, pids };
}

/** The sum of what containers use: what a pod's own group would say. Undefined when nothing runs. */
function sumUsage(usages: readonly GroupUsage[]): GroupUsage | undefined {
  const [first, ...others] = usages;
  if (first === undefined) return undefined;
  return others.reduce(addUsage, { ...first, pressure: {}, io: [], hugepages: [] });
}

function addUsage(one: GroupUsage, other: GroupUsage): GroupUsage {
  return {
    ...one,
    cpu: addFields(one.cpu, other.cpu),
    memory: addFields(one.memory, other.memory),
    pids: addFields(one.pids, other.pids),
  };
}

/** What one of the two does not know is unknown of the sum. */
function addFields<T extends object>(one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const sums = Object.entries(one).map(([name, value]: [string, unknown]) => {
    const added: unknown = other[name as keyof T];
    return [name, typeof value === 'bigint' && typeof added === 'bigint' ? value + added : undefined];
  });
  return Object.fromEntries(sums) as T;
}
