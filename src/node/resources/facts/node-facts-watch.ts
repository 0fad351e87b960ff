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
  /** Where the servers behind systemd-resolved's stub stand. */
  readonly behindStub?: string;
  readonly pageSizeBytes: number;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly isInCluster: boolean;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly seccompDir: string;
  readonly seccompDefault: boolean;
  /** See {@link NodeFacts}. */
  readonly strictGroups: () => boolean | undefined;
  /** Whether the runtime can mount, as it says itself. */
  readonly canMount: () => boolean;
  /** What else is read again as often. */
  readonly others?: readonly NodeReading[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
/** Of what only changes when somebody gives the machine more or less of it. */
export const MACHINE_PERIOD_MS = 60_000;
/** All of it is there within milliseconds, unless something hangs. */
const DEADLINE_MS = 5_000;
const HUGE_PAGES = '/sys/kernel/mm/hugepages';
const CPUS = '/sys/devices/system/cpu';
const NO_RESOLVER: ResolverConfig = { servers: [], searches: [], options: [] };
/** With systemd-resolved's stub, which pods of their own network cannot reach, the real servers stand here. */
const STUB_ADDRESS = '127.0.0.53';
const BEHIND_STUB = '/run/systemd/resolve/resolv.conf';

/** The node's facts for sandboxes and containers; what may change is read again every ten seconds, the machine every minute. */
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

  /** As of now. */
  facts(): NodeFacts {
    const { nodeInstance, cpuCfsQuota, cpuCfsQuotaPeriodMs, canMount, strictGroups } = this.#options;
    const { isInCluster, clusterDns, clusterDomain, seccompDir, seccompDefault, pageSizeBytes } =
      this.#options;
    return {
      nodeInstance,
      hostname: hostname(),
      resolver: this.#resolver,
      isInCluster,
      clusterDns,
      clusterDomain,
      memoryCapacityBytes: BigInt(totalmem()),
      pageSizeBytes,
      hugePageSizes: this.#hugePageSizes,
      cpuCfsQuota,
      cpuCfsPeriodUs: Math.round(cpuCfsQuotaPeriodMs * 1_000),
      seccompDir,
      seccompDefault,
      maskedPaths: this.#maskedPaths,
      strictGroups: strictGroups(),
      canMount: canMount(),
    };
  }

  /**
   * Reads what may have changed, for five seconds at most: then what is still being read stays as it was known, and is named.
   * Never rejects.
   */
  async refresh(signal?: AbortSignal): Promise<void> {
    await this.#readings.refresh(signal);
  }

  /** Reads again and again until the signal aborts; resolves then. */
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

  /** A file that cannot be read leaves what was known, and is told of once. */
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

/** By which a container could tell what others of the machine are doing. */
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
