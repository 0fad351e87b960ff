/**
 * Finds out what a node is short of.
 *
 * In: how much is left of memory, disks and process ids, every second, and the thresholds. A shortage is reported at once, and
 * everything every ten seconds. Node cannot poll a file for the kernel's own notices of pressure (POLLPRI), so small files are read
 * instead, and what hangs delays nothing else. Out: which of the conditions MemoryPressure, DiskPressure and PIDPressure hold. One holds from the first look that finds too little, and
 * for five minutes after the last such look, so that pods do not come and go with it; a grace period of a soft threshold
 * is about evictions, not about the condition. What is done about a shortage is another's business (src/node/resources/eviction).
 *
 * What cannot be measured says nothing: it neither begins nor ends a shortage before its time.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-conditions
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { nodePressureChanged } from '#base/channels/node-channels.js';
import { Cached } from '#base/async/cached.js';
import { type NodePressure } from './compute-node-conditions.js';
import { type EvictionSignal, type EvictionThreshold, leastOf } from '#kube/node/eviction-thresholds.js';
import { findShortage, type Supplies, type Supply } from '#kube/node/node-supplies.js';

/** Measures what is left, one thing after the other apart: what hangs holds up nothing else. */
export type SupplyReaders = Readonly<Record<string, (signal: AbortSignal) => Promise<Supplies>>>;

/** What {@link PressureWatch} needs. */
export interface PressureWatchOptions extends Publisher {
  /** By what they measure, for the log: `memory`, `disk of /var/lib/podloop`. */
  readonly readers: SupplyReaders;
  readonly thresholds: readonly EvictionThreshold[];
  /** evictionPressureTransitionPeriod. */
  readonly transitionPeriodMs: number;
  readonly onChange: () => void;
  /** Called every ten seconds with what is left, and at once when something has become short. */
  readonly onLooked?: ((supplies: Supplies) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Condition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** The kubelet's. */
export const DEFAULT_TRANSITION_PERIOD_MS = 5 * 60_000;

const PERIOD_MS = 10_000;
const WATCH_PERIOD_MS = 1_000;
const DEADLINE_MS = 5_000;

/** See the comment of this module. */
export class PressureWatch {
  readonly #options: PressureWatchOptions;
  readonly #looks: ReadonlyMap<string, Cached<Supplies>>;
  readonly #complaints = new Map<string, string>();
  /** Monotonic milliseconds of the last look that found too little. */
  readonly #shortAtMs = new Map<Condition, number>();
  readonly #told = new Set<Condition>();
  /** What is left, as of the last measurement of each. */
  #latest: Supplies = {};
  /** Those that were below by the last measurement. */
  readonly #short = new Set<EvictionThreshold>();
  readonly #measuring = new Set<string>();

  constructor(options: PressureWatchOptions) {
    this.#options = options;
    const { readers, clock } = options;
    this.#looks = new Map(
      Object.entries(readers).map(([name, read]) => {
        const late = (): Error => new Error(`${name}: not measured within ${formatGoDuration(DEADLINE_MS)}`);
        return [name, new Cached({ clock, deadlineMs: DEADLINE_MS, late, read })];
      }),
    );
  }

  /** As of now. */
  pressure(): NodePressure {
    return {
      memory: this.#holds('MemoryPressure'),
      disk: this.#holds('DiskPressure'),
      pid: this.#holds('PIDPressure'),
    };
  }

  /** Measures until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const watching = (async () => {
      while (!signal.aborted) {
        const isUp = await clock.sleep(WATCH_PERIOD_MS, signal).then(
          () => true,
          () => false,
        );
        if (isUp) for (const [name, look] of this.#looks) void this.#watch(name, look, signal);
      }
    })();
    while (!signal.aborted) {
      await this.look(signal).then(
        (supplies) => this.#options.onLooked?.(supplies),
        () => undefined,
      );
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
    await watching;
  }

  /** Measures once for the caller, without notifying anybody else. Rejects only when aborted. */
  async look(signal: AbortSignal): Promise<Supplies> {
    const parts = await Promise.all(
      [...this.#looks].map(async ([name, look]) => this.#read(name, look, signal)),
    );
    const supplies: Supplies = Object.assign({}, ...parts) as Supplies;
    this.#note(supplies);
    return supplies;
  }

  /** Measures one thing, unless it is being measured. Never rejects. */
  async #watch(name: string, look: Cached<Supplies>, signal: AbortSignal): Promise<void> {
    if (this.#measuring.has(name)) return;
    this.#measuring.add(name);
    try {
      if (this.#note(await this.#read(name, look, signal))) this.#options.onLooked?.(this.#latest);
    } catch {
      // It has aborted.
    } finally {
      this.#measuring.delete(name);
    }
  }

  /** Whether something is short that was not by the measurement before. */
  #note(supplies: Supplies): boolean {
    this.#latest = { ...this.#latest, ...supplies };
    const nowMs = this.#options.clock.monotonicMs();
    let isNews = false;
    for (const threshold of this.#options.thresholds) {
      if (supplies[threshold.signal] === undefined) continue;
      const supply = findShortage(threshold, supplies);
      if (supply === undefined) {
        this.#short.delete(threshold);
        continue;
      }
      isNews ||= !this.#short.has(threshold);
      this.#short.add(threshold);
      this.#shortAtMs.set(conditionOf(threshold.signal), nowMs);
      this.#logShortage(threshold, supply);
    }
    this.#logChanges();
    return isNews;
  }

  async #read(name: string, look: Cached<Supplies>, signal: AbortSignal): Promise<Supplies> {
    try {
      const supplies = await look.get(signal);
      this.#complaints.delete(name);
      return supplies;
    } catch (error) {
      signal.throwIfAborted();
      const complaint = messageOf(error);
      if (this.#complaints.get(name) !== complaint) {
        this.#options.logger.warn('What is left on the node cannot be measured', {
          of: name,
          err: complaint,
        });
      }
      this.#complaints.set(name, complaint);
      return {};
    }
  }

  #holds(condition: Condition): boolean {
    const { clock, transitionPeriodMs } = this.#options;
    const atMs = this.#shortAtMs.get(condition);
    return atMs !== undefined && clock.monotonicMs() - atMs < Math.max(transitionPeriodMs, PERIOD_MS);
  }

  #logShortage(threshold: EvictionThreshold, { available, capacity }: Supply): void {
    const condition = conditionOf(threshold.signal);
    if (this.#told.has(condition)) return;
    this.#options.logger.warn('Node is short of something', {
      ...{ condition, signal: threshold.signal, available, capacity },
      threshold: leastOf(threshold, capacity),
    });
  }

  #logChanges(): void {
    const { logger, onChange } = this.#options;
    let hasChanged = false;
    for (const condition of ['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const) {
      const isUnderPressure = this.#holds(condition);
      if (isUnderPressure === this.#told.has(condition)) continue;
      hasChanged = true;
      if (isUnderPressure) this.#told.add(condition);
      else {
        this.#told.delete(condition);
        logger.info('Node is no longer short of something', { condition });
      }
      publishTo(this.#options.channels, nodePressureChanged, { condition, isUnderPressure });
    }
    if (hasChanged) onChange();
  }
}

function conditionOf(signal: EvictionSignal): Condition {
  if (signal === 'memory.available' || signal === 'allocatableMemory.available') return 'MemoryPressure';
  return signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure';
}
