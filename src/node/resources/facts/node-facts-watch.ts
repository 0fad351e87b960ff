import { access, readdir, readFile } from 'node:fs/promises';
import { hostname, totalmem } from 'node:os';
import { parseHugepageFolder } from '../../runtime/config/huge-pages.js';
import { type NodeFacts } from '../../runtime/config/node-facts.js';
import { parseResolverConfig, type ResolverConfig } from '../../runtime/config/resolver-config.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type NodeReading, NodeReadings } from './node-readings.js';

/** What {@link NodeFactsWatch} needs. */
export interface NodeFactsWatchOptions {
  readonly nodeInstance: string;
  /** Empty: containers get no name servers. */
  readonly resolvConf: string;
  /** Where the servers behind systemd-resolved's stub are listed. */
  readonly behindStub?: string;
  readonly pageSizeBytes: number;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** See {@link NodeFacts}. */
  readonly oomKillsContainer: boolean;
  readonly swap?: NodeFacts['swap'];
  readonly memoryQos?: () => NodeFacts['memoryQos'];
  readonly isInCluster: boolean;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The agent's own name server for pods, where there is one and no other was named (default: none). */
  readonly podDns?: () => { readonly servers: readonly string[]; readonly domain: string } | undefined;
  readonly seccompDir: string;
  readonly seccompDefault: boolean;
  /** See {@link NodeFacts}. */
  readonly strictGroups: () => boolean | undefined;
  /** Whether the runtime can mount, as it reports. */
  readonly canMount: () => boolean;
  /** Further readings with the same interval. */
  readonly others?: readonly NodeReading[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
/** Interval for what only changes when somebody resizes the machine. */
export const MACHINE_PERIOD_MS = 60_000;
/** Everything arrives within milliseconds, unless something hangs. */
const DEADLINE_MS = 5_000;
const HUGE_PAGES = '/sys/kernel/mm/hugepages';
const CPUS = '/sys/devices/system/cpu';
const NO_RESOLVER: ResolverConfig = { servers: [], searches: [], options: [] };
/** The address of systemd-resolved's stub, which pods with a network of their own cannot reach. */
const STUB_ADDRESS = '127.0.0.53';
const BEHIND_STUB = '/run/systemd/resolve/resolv.conf';

/**
 * The node's facts for sandboxes and containers; most are read again every ten seconds, the machine every
 * minute.
 */
export class NodeFactsWatch {
  readonly #options: NodeFactsWatchOptions;
  readonly #readings: NodeReadings;
  #resolver: ResolverConfig = NO_RESOLVER;
  #problem = '';
  #maskedPaths: readonly string[] = [];
  #hugePageSizes: readonly bigint[] = [];

  constructor(options: NodeFactsWatchOptions) {
    this.#options = options;
    const { others = [], clock, logger } = options;
    this.#readings = new NodeReadings({
      ...{ deadlineMs: DEADLINE_MS, clock, logger },
      readings: [
        ...others,
        { name: 'processors', read: async () => this.#readMaskedPaths(), everyMs: MACHINE_PERIOD_MS },
        { name: 'huge pages', read: async () => this.#readHugePages(), everyMs: MACHINE_PERIOD_MS },
        { name: 'name servers', read: async () => this.#readResolver() },
      ],
    });
  }

  /** The present facts. */
  facts(): NodeFacts {
    const { nodeInstance, cpuCfsQuota, cpuCfsQuotaPeriodMs, canMount, strictGroups } = this.#options;
    const { isInCluster, clusterDns, clusterDomain, seccompDir, seccompDefault, pageSizeBytes } =
      this.#options;
    const { oomKillsContainer, swap } = this.#options;
    const podDns = clusterDns.length === 0 ? this.#options.podDns?.() : undefined;
    return {
      nodeInstance,
      hostname: hostname(),
      resolver: this.#resolver,
      isInCluster,
      clusterDns: podDns?.servers ?? clusterDns,
      clusterDomain: podDns?.domain ?? clusterDomain,
      memoryCapacityBytes: BigInt(totalmem()),
      pageSizeBytes,
      hugePageSizes: this.#hugePageSizes,
      cpuCfsQuota,
      cpuCfsPeriodUs: Math.round(cpuCfsQuotaPeriodMs * 1_000),
      oomKillsContainer,
      swap,
      memoryQos: this.#options.memoryQos?.(),
      seccompDir,
      seccompDefault,
      maskedPaths: this.#maskedPaths,
      strictGroups: strictGroups(),
      canMount: canMount(),
    };
  }

  /**
   * Reads changing facts again, for at most five seconds. Never rejects.
   *
   * A fact that is not read by then keeps its last value, and is named in the log.
   */
  async refresh(signal?: AbortSignal): Promise<void> {
    await this.#readings.refresh(signal);
  }

  /** Reads repeatedly until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.refresh(signal);
      await this.#options.clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
  }

  async #readMaskedPaths(): Promise<void> {
    this.#maskedPaths = await findThermalPaths();
  }

  async #readHugePages(): Promise<void> {
    const folders = await readdir(HUGE_PAGES).catch(() => []);
    this.#hugePageSizes = folders.flatMap((name) => parseHugepageFolder(name) ?? []);
  }

  /** An unreadable file leaves the last value, and is logged once. */
  async #readResolver(): Promise<void> {
    const { resolvConf, behindStub = BEHIND_STUB, logger } = this.#options;
    if (resolvConf === '') return;
    try {
      this.#resolver = await readResolver(resolvConf, behindStub);
      this.#problem = '';
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) logger.warn('Resolver configuration cannot be read', { err: problem });
      this.#problem = problem;
    }
  }
}

/** Paths by which a container could see what others on the machine are doing. */
async function findThermalPaths(): Promise<string[]> {
  const names = await readdir(CPUS).catch(() => []);
  const paths = names
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => `${CPUS}/${name}/thermal_throttle`);
  const isThere = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, index) => isThere[index]);
}

async function readResolver(path: string, behindStub: string): Promise<ResolverConfig> {
  const own = parseResolverConfig(await readFile(path, 'utf8'));
  if (own.servers.length !== 1 || own.servers[0] !== STUB_ADDRESS) return own;
  const behind = await readFile(behindStub, 'utf8').catch(() => undefined);
  return behind === undefined ? own : parseResolverConfig(behind);
}
