/**
 * The share of the CPU and the limits of pods whose groups are slices: those are systemd's, and nobody else may write to them.
 *
 * In: the slice of a pod and what it may have. Out: properties of the slice, before the runtime starts something in it and whenever they
 * change. Nothing is set for a slice that is as it should be, as that of a pod that an earlier agent has started.
 *
 * Source: systemd.resource-control(5)
 *
 * @module
 */
import { posix } from 'node:path';
import { Slots } from '#base/async/slots.js';
import { type GroupLimits, type LimitPhase, type Limits } from './group-limits.js';
import { type GroupTrees, toWeight } from './group-trees.js';

/** What {@link SliceLimits} needs. */
export interface SliceLimitsOptions {
  readonly limits: Pick<GroupLimits, 'limitsOf' | 'throwIfBelowUsage'>;
  readonly trees: Pick<GroupTrees, 'weightOf'>;
  /** Sets properties of a slice through systemd, whether it is there yet or not; without properties takes them back. */
  readonly setSlice: (slice: string, properties: readonly string[], signal: AbortSignal) => Promise<void>;
}

/** systemd's and the kernel's. */
const DEFAULT_PERIOD_US = 100_000n;
/** systemd does one thing after the other, and each call costs a process. */
const CALLS_AT_ONCE = 4;

/** See the module. */
export class SliceLimits {
  readonly #options: SliceLimitsOptions;
  readonly #calls = new Slots({ limit: CALLS_AT_ONCE });
  /** What each slice has got, by its path. */
  readonly #settled = new Map<string, string>();

  constructor(options: SliceLimitsOptions) {
    this.#options = options;
  }

  /**
   * Sets the share and the limits of a pod's slice. Rejects with RESIZE_NOT_POSSIBLE for a limit of memory below what the pod uses,
   * without trying it, and with the words of systemd.
   */
  async set(
    path: string,
    shares: bigint,
    wanted: Limits,
    phase: LimitPhase,
    signal: AbortSignal,
  ): Promise<void> {
    const { limits, trees } = this.#options;
    const rounded = { ...wanted, cpuQuotaUs: toWholePercent(wanted) };
    const present = limits.limitsOf(path);
    const next = phase === 'grow' && present !== undefined ? largerOf(rounded, present) : rounded;
    const words = toProperties(toWeight(Number(shares)), next);
    const found = present && toProperties(trees.weightOf(path) ?? 0, present);
    if (next.memoryBytes !== undefined) limits.throwIfBelowUsage(path, next.memoryBytes);
    await this.#put(path, words, found, signal);
  }

  /** Sets the share alone, of a slice above pods. */
  async weigh(path: string, weight: number, signal: AbortSignal): Promise<void> {
    const found = [`CPUWeight=${this.#options.trees.weightOf(path)}`];
    await this.#put(path, [`CPUWeight=${weight}`], found, signal);
  }

  /** Call it when a slice is gone: systemd is to forget what was set. Never rejects: it stays until the next boot at most. */
  async forget(path: string, signal: AbortSignal): Promise<void> {
    this.#settled.delete(path);
    await this.#call(path, [], signal).catch(() => undefined);
  }

  async #call(path: string, words: readonly string[], signal: AbortSignal): Promise<void> {
    const { setSlice } = this.#options;
    await this.#calls.run(undefined, async () => setSlice(posix.basename(path), words, signal), signal);
  }

  async #put(
    path: string,
    words: readonly string[],
    found: readonly string[] = [],
    signal: AbortSignal,
  ): Promise<void> {
    const known = this.#settled.get(path) ?? found.join(' ');
    if (known !== words.join(' ')) await this.#call(path, words, signal);
    this.#settled.set(path, words.join(' '));
  }
}

/** systemd knows the CPU time of a slice in whole percent of a processor: no less than what is wanted. */
function toWholePercent({ cpuQuotaUs, cpuPeriodUs }: Limits): bigint | undefined {
  if (cpuQuotaUs === undefined) return undefined;
  const percent = (cpuQuotaUs * 100n + cpuPeriodUs - 1n) / cpuPeriodUs;
  return (percent * cpuPeriodUs) / 100n;
}

/** Of each limit the larger one, as those of containers change in between. */
function largerOf(wanted: Limits, present: Limits): Limits {
  const larger = (one: bigint | undefined, other: bigint | undefined): bigint | undefined =>
    one === undefined || other === undefined ? undefined : one > other ? one : other;
  const ofPeriod = (quota: bigint | undefined): bigint | undefined =>
    quota === undefined ? undefined : (quota * wanted.cpuPeriodUs) / present.cpuPeriodUs;
  return {
    cpuPeriodUs: wanted.cpuPeriodUs,
    cpuQuotaUs: larger(wanted.cpuQuotaUs, ofPeriod(present.cpuQuotaUs)),
    memoryBytes: larger(wanted.memoryBytes, present.memoryBytes),
    pids: larger(wanted.pids, present.pids),
  };
}

function toProperties(weight: number, { cpuQuotaUs, cpuPeriodUs, memoryBytes, pids }: Limits): string[] {
  const percent = cpuQuotaUs === undefined ? '' : `${(cpuQuotaUs * 100n + cpuPeriodUs - 1n) / cpuPeriodUs}%`;
  return [
    `CPUWeight=${weight}`,
    `CPUQuota=${percent}`,
    // Older ones than systemd 242 know no other.
    ...(cpuQuotaUs === undefined || cpuPeriodUs === DEFAULT_PERIOD_US
      ? []
      : [`CPUQuotaPeriodSec=${cpuPeriodUs}us`]),
    `MemoryMax=${memoryBytes ?? 'infinity'}`,
    `TasksMax=${pids ?? 'infinity'}`,
  ];
}
