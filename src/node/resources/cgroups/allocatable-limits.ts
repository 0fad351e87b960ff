/**
 * Node allocatable: limits of the group of all pods, and of those of the system and of agents, so that what is reserved stays free
 * whatever pods do.
 *
 * In: the options, and what the machine has. Out: the limit of memory and processes and the share of the CPU of those groups, in the
 * machine's trees, or through systemd for its slices. The group of all pods gets what the machine has without what is reserved; eviction
 * thresholds count for admission alone, since pods that reach them are to be evicted, not killed.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/#node-allocatable
 *
 * @module
 */
import { posix } from 'node:path';
import { formatBytes, toMilliUnits, toWholeUnits } from '#kube/fields/quantity.js';
import { RecentKeys } from '#base/async/recent-keys.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { type ReserveOptions } from '../../options/reserve-options.js';
import { toShares } from '../../runtime/config/container-resources.js';
import { computeReserved, leftOf, type ReservedAmounts, sumReserved } from '../facts/reserved-amounts.js';
import { type GroupLimits } from './group-limits.js';
import { type GroupTrees, toWeight } from './group-trees.js';

/** What the machine has now. */
export interface MachineAmounts {
  readonly cores: number;
  readonly memoryBytes: bigint;
  /** How many processes and threads there can be. */
  readonly pids: bigint;
}

/** What one group gets; a limit that is undefined stays as it is. */
export interface GroupAmounts {
  readonly cpuShares: bigint;
  readonly memoryBytes?: bigint | 'max' | undefined;
  readonly pids?: bigint | 'max' | undefined;
  /** What the kernel keeps for it in any case, on cgroup v2. */
  readonly memoryMinBytes?: bigint | undefined;
}

/** An event of the Node about these limits, in a kubelet's words. */
export interface AllocatableEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'NodeAllocatableEnforced' | 'FailedNodeAllocatableEnforcement';
  readonly message: string;
}

/** What {@link AllocatableLimits} needs. */
export interface AllocatableLimitsOptions {
  readonly options: ReserveOptions;
  readonly readMachine: () => Promise<MachineAmounts>;
  readonly trees: Pick<GroupTrees, 'has' | 'weigh'>;
  readonly limits: Pick<
    GroupLimits,
    'set' | 'isLimited' | 'protect' | 'protectionOf' | 'throwIfBelowWorkingSet'
  >;
  /** Sets properties of a slice through systemd, to which it belongs; without properties takes them back. */
  readonly setSlice: (slice: string, properties: readonly string[], signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SLICE = '.slice';
/** How often the machine is read again: it may be given more or less while it runs. */
const MACHINE_PERIOD_MS = 60_000;
const PERIOD_US = 100_000n;
/** What a new group has. */
const NO_LIMITS: GroupAmounts = { cpuShares: toShares(1_000n), memoryBytes: 'max', pids: 'max' };
/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 20;

/** See the comment of this module. */
export class AllocatableLimits {
  readonly #options: AllocatableLimitsOptions;
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });
  /** What each group has got, by its path. */
  readonly #settled = new Map<string, string>();
  /** Groups without limits of an earlier run. */
  readonly #free = new Set<string>();
  /** Those that nobody has listened to; at most one for each group. */
  readonly #events: AllocatableEvent[] = [];
  #listener: ((event: AllocatableEvent) => void) | undefined;
  #ofPods: GroupAmounts | undefined;
  #readAtMs = -Infinity;

  constructor(options: AllocatableLimitsOptions) {
    this.#options = options;
  }

  /**
   * Limits the groups of the system and of agents, as far as the options ask for it. Call it before the first pod.
   *
   * Rejects with OPTION_INVALID when more is reserved than there is or such a group is missing, as a kubelet does, and when it cannot be
   * limited: whoever asked for it relies on it.
   */
  async enforceReserved(signal: AbortSignal): Promise<void> {
    const { options, readMachine } = this.#options;
    const { system, kube } = computeReserved(options);
    const excess = findExcess([system, kube], await readMachine());
    if (excess !== undefined) throw new PodloopError('OPTION_INVALID', excess);
    await this.#enforce('system-reserved', options.systemReservedCgroup, system, signal);
    await this.#enforce('kube-reserved', options.kubeReservedCgroup, kube, signal);
  }

  /** From now on the listener gets the events, beginning with those from before. Once. */
  onEvent(listener: (event: AllocatableEvent) => void): void {
    this.#listener = listener;
    for (const event of this.#events.splice(0)) listener(event);
  }

  #report(event: AllocatableEvent): void {
    if (this.#listener !== undefined) this.#listener(event);
    else if (this.#events.length < MAX_LOGGED) this.#events.push(event);
  }

  async #enforce(whose: string, group: string, amounts: ReservedAmounts, signal: AbortSignal): Promise<void> {
    const { options, trees } = this.#options;
    const isWhole = options.enforceNodeAllocatable.includes(whose);
    if (!isWhole && !options.enforceNodeAllocatable.includes(`${whose}-compressible`)) return;
    const path = toGroupPath(group);
    const flag = `--${whose}-cgroup`;
    if (!trees.has(path)) {
      const remedy = `create it before the agent starts, or leave ${whose} out of --enforce-node-allocatable`;
      throw new PodloopError(
        'OPTION_INVALID',
        `${flag}: there is no cgroup ${path} on this machine; ${remedy}`,
      );
    }
    const memoryBytes = isWhole ? positive(sumReserved([amounts], 'memory', toWholeUnits)) : undefined;
    const limits: GroupAmounts = {
      cpuShares: toShares(sumReserved([amounts], 'cpu', toMilliUnits)),
      ...{ memoryBytes, memoryMinBytes: memoryBytes },
      pids: isWhole ? positive(sumReserved([amounts], 'pid', toWholeUnits)) : undefined,
    };
    try {
      await this.#apply(path, limits, signal);
    } catch (error) {
      throw new PodloopError('OPTION_INVALID', `${flag}: ${path} cannot be limited: ${messageOf(error)}`);
    }
    this.#options.logger.info('Reserved cgroup limited', { cgroup: path, ...describe(limits) });
    const message = `Updated limits on ${whose.replace('-', ' ')} cgroup ${group}`;
    this.#report({ type: 'Normal', reason: 'NodeAllocatableEnforced', message });
  }

  /**
   * Limits the group of all pods to what is theirs, where something is reserved and the options ask for it; otherwise takes limits of
   * an earlier run away. Groups of `above` get the same share of the CPU, since a share counts among neighbours alone. Does nothing for
   * a group that is as it should be. Never rejects: what cannot be set is logged once, and tried again with the next call.
   */
  async limitPods(path: string, above: readonly string[], signal: AbortSignal): Promise<void> {
    try {
      await this.#refresh();
      if (this.#ofPods === undefined) {
        await this.#takeBack(path, signal);
        return;
      }
      const { cpuShares, memoryBytes, pids } = this.#ofPods;
      // The machine was given less since the start. With nothing left the kernel would end every pod.
      for (const [what, left] of Object.entries({ memory: memoryBytes, processes: pids }))
        if (left === 0n) throw new Error(`what is reserved leaves no ${what} to pods`);
      for (const each of above) await this.#apply(each, { cpuShares }, signal);
      if (!(await this.#apply(path, this.#ofPods, signal))) return;
      const message = 'Updated Node Allocatable limit across pods';
      this.#report({ type: 'Normal', reason: 'NodeAllocatableEnforced', message });
    } catch (error) {
      const err = messageOf(error);
      if (!this.#logged.add(`${path} ${err}`)) return;
      this.#options.logger.warn('Limits of all pods together are not set', { cgroup: path, err });
      const message = `Failed to update Node Allocatable Limits "${path}": ${err}`;
      this.#report({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
    }
  }

  /** Once for a group: nobody limits it later. */
  async #takeBack(path: string, signal: AbortSignal): Promise<void> {
    if (this.#free.has(path)) return;
    if (this.#options.limits.isLimited(path)) await this.#apply(path, NO_LIMITS, signal);
    this.#free.add(path);
  }

  /** Call it when a group was removed: the next one of its name has no limits, and systemd is to forget those of a slice. */
  async forget(path: string, signal: AbortSignal): Promise<void> {
    this.#free.delete(path);
    if (!this.#settled.delete(path) || !path.endsWith(SLICE)) return;
    await this.#options.setSlice(posix.basename(path), [], signal).catch((error: unknown) => {
      this.#options.logger.info('Limits of a slice stay until the next boot', {
        cgroup: path,
        err: messageOf(error),
      });
    });
  }

  async #refresh(): Promise<void> {
    const { readMachine, clock } = this.#options;
    if (clock.now() - this.#readAtMs < MACHINE_PERIOD_MS) return;
    this.#ofPods = computeForPods(this.#options.options, await readMachine());
    this.#readAtMs = clock.now();
  }

  /** Whether it was not so before. */
  async #apply(path: string, amounts: GroupAmounts, signal: AbortSignal): Promise<boolean> {
    const words = JSON.stringify(describe(amounts));
    const { trees, limits, setSlice } = this.#options;
    const { cpuShares, memoryBytes, memoryMinBytes: minBytes, pids } = amounts;
    const isKnown = this.#settled.get(path) === words;
    const isSlice = path.endsWith(SLICE);
    const isLimit = [memoryBytes, pids].some((amount) => typeof amount === 'bigint');
    // Somebody may have removed the group since, and made one without limits.
    if (isKnown && (isSlice || !isLimit || limits.isLimited(path))) return false;
    if (isSlice) {
      if (typeof memoryBytes === 'bigint') limits.throwIfBelowWorkingSet(path, memoryBytes);
      await setSlice(posix.basename(path), toProperties(amounts), signal);
    } else {
      await trees.weigh(path, cpuShares);
      if (memoryBytes !== undefined || pids !== undefined) {
        const toLimit = (amount: GroupAmounts['pids']): bigint | undefined =>
          amount === 'max' ? undefined : amount;
        const both = { memoryBytes: toLimit(memoryBytes), pids: toLimit(pids) };
        await limits.set(path, { cpuQuotaUs: undefined, cpuPeriodUs: PERIOD_US, ...both }, 'reclaim');
      }
      const { lowBytes } = limits.protectionOf(path) ?? { lowBytes: 0n };
      if (minBytes !== undefined) await limits.protect(path, { minBytes, lowBytes });
    }
    this.#settled.set(path, words);
    return !isKnown;
  }
}

/** What is reserved of something that this machine has less of; undefined if there is enough of all. Pure. */
function findExcess(
  reserved: readonly ReservedAmounts[],
  { cores, memoryBytes, pids }: MachineAmounts,
): string | undefined {
  const toCpu = (milli: bigint): string => `${milli}m`;
  const rows = [
    ['cpu', toMilliUnits, BigInt(cores) * 1_000n, toCpu],
    ['memory', toWholeUnits, memoryBytes, formatBytes],
    ['pid', toWholeUnits, pids, String],
  ] as const;
  for (const [name, unit, all, toText] of rows) {
    const wanted = sumReserved(reserved, name, unit);
    if (wanted > all)
      return `--system-reserved, --kube-reserved: ${name}: ${toText(wanted)} is reserved, and this machine has ${toText(all)}; reserve less`;
  }
  return undefined;
}

/** What the group of all pods gets; undefined where nothing is reserved or the options do not ask for it. Pure. */
export function computeForPods(options: ReserveOptions, machine: MachineAmounts): GroupAmounts | undefined {
  if (!options.enforceNodeAllocatable.includes('pods')) return undefined;
  const { system, kube } = computeReserved(options);
  const reservedOf = (name: string, unit: typeof toWholeUnits): bigint =>
    sumReserved([system, kube], name, unit);
  const cpu = reservedOf('cpu', toMilliUnits);
  const memory = reservedOf('memory', toWholeUnits);
  const pids = reservedOf('pid', toWholeUnits);
  if (cpu === 0n && memory === 0n && pids === 0n) return undefined;
  return {
    cpuShares: toShares(leftOf(BigInt(machine.cores) * 1_000n, cpu)),
    memoryBytes: memory === 0n ? 'max' : leftOf(machine.memoryBytes, memory),
    pids: pids === 0n ? 'max' : leftOf(machine.pids, pids),
  };
}

/**
 * The path of a group as the options name it. A slice may be named without those above it: `/a-b.slice` is in `/a.slice`.
 */
export function toGroupPath(group: string): string {
  const path = posix.normalize(`/${group}`).replace(/(?<=.)\/$/, '');
  const name = posix.basename(path);
  if (!name.endsWith(SLICE)) return path;
  const parts = name.slice(0, -SLICE.length).split('-');
  return `/${parts.map((_part, at) => `${parts.slice(0, at + 1).join('-')}${SLICE}`).join('/')}`;
}

function positive(amount: bigint): bigint | undefined {
  return amount > 0n ? amount : undefined;
}

function describe({ cpuShares, memoryBytes, pids }: GroupAmounts): Record<string, string> {
  return {
    cpuShares: String(cpuShares),
    ...(memoryBytes === undefined ? {} : { memory: String(memoryBytes) }),
    ...(pids === undefined ? {} : { pids: String(pids) }),
  };
}

function toProperties({ cpuShares, memoryBytes, memoryMinBytes, pids }: GroupAmounts): string[] {
  const toWord = (amount: bigint | 'max'): string => (amount === 'max' ? 'infinity' : String(amount));
  return [
    `CPUWeight=${toWeight(Number(cpuShares))}`,
    ...(memoryBytes === undefined ? [] : [`MemoryMax=${toWord(memoryBytes)}`]),
    ...(memoryMinBytes === undefined ? [] : [`MemoryMin=${memoryMinBytes}`]),
    ...(pids === undefined ? [] : [`TasksMax=${toWord(pids)}`]),
  ];
}
