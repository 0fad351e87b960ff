/**
 * Frees what the node is short of: removes what nobody needs, and ends pods when that is not enough.
 *
 * ```
 * supplies ─► thresholds met ─► clear up (disks alone) ─► look again ─► choose a pod ─► end it ─┐
 *                  ▲                                                                            │
 *                  └── look again, once its containers have ended, or ten seconds later if ◄────┘
 *                      nobody could go
 * ```
 *
 * In: each measurement of what is left. Out: ends of pods, one at a time and for the most pressing shortage,
 * each with a reason that names the shortage. It assumes that a pod that was asked to end does so; after a
 * time it stops waiting. Critical pods are never ended, whatever they use. While a pod takes its time to end
 * for a soft threshold, no other ends for a soft one: only hard ones are acted upon.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { findShortage, type Supplies } from '#kube/node/node-supplies.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { withinTime } from '#base/async/within-time.js';
import { toEvictionMessage } from './eviction-message.js';
import {
  AT_ONCE_SECONDS,
  type EvictionRule,
  isAboutDisk,
  resourceOf,
  type StarvedResource,
} from './eviction-rules.js';
import { type MetThreshold, MetThresholds } from './met-thresholds.js';
import { type DiskParts, diskPartsOf } from './pod-consumption.js';
import { VictimChoice, type VictimChoiceOptions } from './victim-choice.js';
import { settlesWithin } from '#base/async/settles-within.js';

/** How to end a pod. */
export interface Eviction {
  /** The value of the kubelet's label eviction_signal: `memory.available`. */
  readonly signal: string;
  readonly message: string;
  /** The reason of the pod's condition DisruptionTarget: it ends for the sake of others. */
  readonly disruption: string;
  readonly gracePeriodSeconds: number;
  /** How old the measurement is by which the node is short. */
  readonly statsAgeMs: number;
}

/** What {@link EvictionManager} needs. */
export interface EvictionManagerOptions extends VictimChoiceOptions {
  readonly rules: readonly EvictionRule[];
  /** evictionMaxPodGracePeriod: the longest grace period of a pod for a soft threshold. */
  readonly maxPodGraceSeconds: number;
  /** Measures again what is left. */
  readonly measureSupplies: (signal: AbortSignal) => Promise<Supplies>;
  /** Whether images and writable layers have a disk of their own. */
  readonly hasImageDisk: (signal: AbortSignal) => Promise<boolean>;
  /** Removes containers and images that nobody uses. */
  readonly clearUp: (signal: AbortSignal) => Promise<void>;
  /** Ends the pod for good; returns at once. */
  readonly evict: (pod: NodePod, eviction: Eviction) => void;
  /** Resolves when nothing of a pod runs and its volumes are gone. */
  readonly whenGone: (pod: NodePod, signal: AbortSignal) => Promise<void>;
  /** The node is short of it, and something is being done about it. */
  readonly onShort: (resource: StarvedResource) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long unused things are removed; the rest follows the next time. */
const CLEAR_UP_LIMIT_MS = 60_000;
/** A node without memory or disk may hang anywhere. */
const ASK_LIMIT_MS = 10_000;
/** Pause after an attempt that ended no pod; a kubelet checks as often. */
const REST_MS = 10_000;

/** See the module. */
export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  readonly #met: MetThresholds;
  #choice: VictimChoice;
  readonly #wakeup = new Wakeup();
  #latest: Supplies | undefined;
  /** When the node was last measured, in monotonic milliseconds. */
  #measuredAtMs = 0;
  /** Called when a hard threshold is met. */
  #onHardShortage: (() => void) | undefined;
  /** Settles when the pod that ends for a soft threshold is gone, or nothing waits for it any longer. */
  #leaving: Promise<void> | undefined;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    this.#met = new MetThresholds(options.rules);
    this.#choice = new VictimChoice(options);
  }

  /** Accepts a new measurement. Returns at once. */
  noteSupplies(supplies: Supplies): void {
    this.#latest = supplies;
    this.#measuredAtMs = this.#options.clock.monotonicMs();
    this.#wakeup.wake();
    if (this.#options.rules.some((rule) => rule.isHard && findShortage(rule, supplies)))
      this.#onHardShortage?.();
  }

  /** Acts on measurements until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#actOnce(signal);
  }

  async #actOnce(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#wakeup.wait(clock, undefined, signal);
      if (this.#latest !== undefined) await this.#relieve(this.#latest, signal);
      // Measurements that came meanwhile are older than the last one here.
      this.#latest = undefined;
    } catch (error) {
      if (!signal.aborted) logger.error('Eviction manager: failed', error);
    }
  }

  /** Until nothing is short. */
  async #relieve(told: Supplies, signal: AbortSignal): Promise<void> {
    const { clock, measureSupplies } = this.#options;
    this.#choice = new VictimChoice(this.#options);
    let supplies = told;
    for (;;) {
      const met = this.#met.observe(supplies, clock.monotonicMs());
      if (met.length === 0) return;
      // The pod that ends for a soft threshold may be enough, and gets the time to show that.
      const first = this.#leaving === undefined ? met : met.filter(({ rule }) => rule.isHard);
      if (first.length === 0) await this.#untilLeft();
      else await this.#relieveNow(first, signal);
      supplies = await measureSupplies(signal);
      this.#measuredAtMs = clock.monotonicMs();
    }
  }

  async #relieveNow(met: readonly MetThreshold[], signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const evicted = await this.#relieveOfOne(met, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      logger.error('Eviction manager: failed to relieve the node', error);
      return undefined;
    });
    if (evicted === undefined) await clock.sleep(REST_MS, signal);
    else await this.#untilGone(evicted, signal);
  }

  /** Ends a pod for the most pressing shortage for which one can be ended. */
  async #relieveOfOne(met: readonly MetThreshold[], signal: AbortSignal): Promise<EndingPod | undefined> {
    const tried = new Set<string>();
    for (const each of met) {
      const { signal: short } = each.rule;
      const resource = resourceOf(short);
      const parts = diskPartsOf(short, isAboutDisk(resource) && (await this.#hasImageDisk(signal)));
      // Several thresholds may concern one disk.
      const shortage = `${resource} ${parts.writtenLayers}`;
      if (tried.has(shortage)) continue;
      tried.add(shortage);
      const outcome = await this.#relieveOf(each, parts, signal);
      if (outcome === 'relieved') return undefined;
      if (outcome !== 'nobody') return outcome;
    }
    return undefined;
  }

  /** The pod that is being ended for it; undefined if there is enough without that, or no pod can go. */
  async #relieveOf(
    met: MetThreshold,
    parts: DiskParts,
    signal: AbortSignal,
  ): Promise<EndingPod | 'relieved' | 'nobody'> {
    const { logger, onShort } = this.#options;
    const resource = resourceOf(met.rule.signal);
    logger.warn('Eviction manager: attempting to reclaim', { resourceName: resource });
    onShort(resource);
    const rest = await this.#clearUpFor(met, parts, signal);
    if (rest === undefined) {
      logger.info('Eviction manager: able to reduce resource pressure without evicting pods', {
        resourceName: resource,
      });
      return 'relieved';
    }
    logger.info('Eviction manager: must evict pod(s) to reclaim', { resourceName: resource });
    return (await this.#evictOneFor(rest, parts, signal)) ?? 'nobody';
  }

  /**
   * What is still short after cleaning up; undefined when that was enough. For memory there is nothing to
   * clean up.
   */
  async #clearUpFor(
    met: MetThreshold,
    parts: DiskParts,
    signal: AbortSignal,
  ): Promise<MetThreshold | undefined> {
    const { clock, clearUp, measureSupplies, logger } = this.#options;
    // A disk without writable layers has neither containers nor images.
    if (!isAboutDisk(resourceOf(met.rule.signal)) || !parts.writtenLayers) return met;
    try {
      await withinTime({ clock, signal, limitMs: CLEAR_UP_LIMIT_MS }, clearUp);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('Eviction manager: what nobody uses could not be removed', { err: error });
    }
    const left = this.#met.observe(await measureSupplies(signal), clock.monotonicMs());
    return left.find(({ rule }) => rule === met.rule);
  }

  async #evictOneFor(
    met: MetThreshold,
    parts: DiskParts,
    signal: AbortSignal,
  ): Promise<EndingPod | undefined> {
    const { evict, logger, clock } = this.#options;
    const victim = await this.#choice.choose(met.rule.signal, parts, signal);
    if (victim === undefined) return undefined;
    const { pod, use } = victim;
    const { isHard } = met.rule;
    const gracePeriodSeconds = this.#graceOf(pod, met.rule);
    const message = toEvictionMessage(pod, use, met);
    const statsAgeMs = clock.monotonicMs() - this.#measuredAtMs;
    evict(pod, { signal: met.rule.signal, message, disruption: message, gracePeriodSeconds, statsAgeMs });
    logger.info('Eviction manager: pod is evicted', {
      ...{ pod: formatPod(pod.metadata), podUID: pod.metadata.uid, message },
    });
    return { pod, gracePeriodSeconds, isHard };
  }

  async #hasImageDisk(signal: AbortSignal): Promise<boolean> {
    const { clock, hasImageDisk } = this.#options;
    return await withinTime({ clock, signal, limitMs: ASK_LIMIT_MS }, hasImageDisk);
  }

  #graceOf({ spec }: NodePod, { isHard }: EvictionRule): number {
    if (isHard) return AT_ONCE_SECONDS;
    const { maxPodGraceSeconds } = this.#options;
    return Math.min(maxPodGraceSeconds, spec.terminationGracePeriodSeconds ?? maxPodGraceSeconds);
  }

  async #untilGone(ending: EndingPod, signal: AbortSignal): Promise<void> {
    const gone = untilGone(ending, this.#options, signal);
    if (ending.isHard) {
      await gone;
      return;
    }
    const leaving = gone.finally(() => {
      if (this.#leaving === leaving) this.#leaving = undefined;
    });
    this.#leaving = leaving;
    await this.#untilLeft();
  }

  /** A long grace period ends when a hard threshold is met: nothing waits for it then. */
  async #untilLeft(): Promise<void> {
    const pressed = new Promise<'pressed'>((resolve) => (this.#onHardShortage = () => resolve('pressed')));
    try {
      if ((await Promise.race([this.#leaving, pressed])) !== 'pressed') return;
      this.#options.logger.info('Eviction manager: a hard threshold is met while a pod ends');
    } finally {
      this.#onHardShortage = undefined;
    }
  }
}

/** A pod that was asked to end. */
interface EndingPod {
  readonly pod: NodePod;
  readonly gracePeriodSeconds: number;
  /** It ends for a hard threshold. */
  readonly isHard: boolean;
}

/** What {@link untilGone} needs. */
interface UntilGoneOptions {
  /** Resolves when nothing of a pod runs and its volumes are gone. */
  readonly whenGone: (pod: NodePod, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long beyond its grace period to wait for an ending pod. */
const CLEAN_UP_LIMIT_MS = 30_000;

/**
 * Waits until a pod is gone, or until the wait is over; returns which. Rejects only with the signal's reason.
 */
async function untilGone(
  { pod, gracePeriodSeconds }: EndingPod,
  { whenGone, clock, logger }: UntilGoneOptions,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new AbortController();
  const gone = whenGone(pod, AbortSignal.any([signal, waiting.signal]));
  const isInTime = await settlesWithin(gone, gracePeriodSeconds * 1_000 + CLEAN_UP_LIMIT_MS, clock);
  waiting.abort();
  signal.throwIfAborted();
  const names = { pod: formatPod(pod.metadata), podUID: pod.metadata.uid };
  if (isInTime) {
    await gone;
    logger.info('Eviction manager: pod is cleaned up', names);
  } else logger.warn('Eviction manager: timed out waiting for a pod to be cleaned up', names);
}
