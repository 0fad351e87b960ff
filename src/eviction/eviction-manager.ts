/**
 * Gives back what the node is short of: clears up what nobody needs, and ends pods when that is not enough.
 *
 * ```
 * supplies ─► thresholds met ─► clear up (disks alone) ─► look again ─► rank pods ─► end the first ─┐
 *                  ▲                                                                                │
 *                  └───────────────────── look again, once its containers have ended ◄──────────────┘
 * ```
 *
 * In: what is left of everything, each time somebody has looked. Out: ends of pods, one at a time and for the most pressing
 * shortage, each with a reason that names what was short. It assumes that a pod which was told to end does; after a
 * time nobody waits for it any longer. What a critical pod uses is its own: those are never ended.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 *
 * @module
 */
import { isCriticalPod } from '../model/critical-pod.js';
import { type NodePod } from '../model/node-pod.js';
import { type Supplies } from '../model/node-supplies.js';
import { type PodUse } from '../model/pod-use.js';
import { type Clock } from '../util/clock.js';
import { formatGoDuration } from '../util/go-duration.js';
import { type Logger } from '../util/logger.js';
import { settlesWithin } from '../util/settles-within.js';
import { Wakeup } from '../util/wakeup.js';
import { withinTime } from '../util/within-time.js';
import { toEvictionMessage } from './eviction-message.js';
import { type EvictionRule, resourceOf, type StarvedResource } from './eviction-rules.js';
import { MetThresholds, type MetThreshold } from './met-thresholds.js';
import { diskPartsOf } from './pod-consumption.js';
import { rankPods } from './rank-pods.js';

/** How a pod is to end. */
export interface Eviction {
  /** As the kubelet's label eviction_signal has it: `memory.available`. */
  readonly signal: string;
  readonly message: string;
  readonly gracePeriodSeconds: number;
}

/** What {@link EvictionManager} needs. */
export interface EvictionManagerOptions {
  readonly rules: readonly EvictionRule[];
  /** evictionMaxPodGracePeriod: the most that a pod gets to end when a soft threshold is met. */
  readonly maxPodGraceSeconds: number;
  /** Pods that may run and are not being ended. */
  readonly pods: () => readonly NodePod[];
  /** What pods use, by uid; those that are not in it use something that nobody knows. */
  readonly measurePods: (signal: AbortSignal) => Promise<ReadonlyMap<string, PodUse>>;
  /** Measures what is left anew. */
  readonly measureSupplies: (signal: AbortSignal) => Promise<Supplies>;
  /** Whether images and what containers write have a disk of their own. */
  readonly hasImageDisk: (signal: AbortSignal) => Promise<boolean>;
  /** Removes containers and images that nobody uses. */
  readonly clearUp: (signal: AbortSignal) => Promise<void>;
  /** Ends the pod for good; returns at once. */
  readonly evict: (pod: NodePod, eviction: Eviction) => void;
  /** Resolves when nothing of a pod runs and its volumes are gone. */
  readonly whenGone: (pod: NodePod, signal: AbortSignal) => Promise<void>;
  /** The node is short of it, and something is done about it. */
  readonly onShort: (resource: StarvedResource) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As a kubelet gives those that it evicts at once. */
const IMMEDIATE_GRACE_SECONDS = 1;
/** For so long beyond its grace period a pod that is ending is waited for. */
const CLEAN_UP_LIMIT_MS = 30_000;
/** For so long what nobody uses is removed; the rest goes when it is done again. */
const CLEAR_UP_LIMIT_MS = 60_000;
const MEASURE_LIMIT_MS = 20_000;

/** See the module. */
export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  readonly #met: MetThresholds;
  readonly #wakeup = new Wakeup();
  #latest: Supplies | undefined;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    this.#met = new MetThresholds(options.rules);
  }

  /** Somebody has looked at what is left. Returns at once. */
  noteSupplies(supplies: Supplies): void {
    this.#latest = supplies;
    this.#wakeup.wake();
  }

  /** Acts on what is told until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#actOnce(signal);
  }

  async #actOnce(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#wakeup.wait(clock, undefined, signal);
      const supplies = this.#latest;
      this.#latest = undefined;
      if (supplies !== undefined) await this.#relieve(supplies, signal);
    } catch (error) {
      if (!signal.aborted) logger.error('Eviction manager: failed to relieve the node', error);
    }
  }

  /** Until nothing is short, or nothing more can be done now. */
  async #relieve(told: Supplies, signal: AbortSignal): Promise<void> {
    const { clock, measureSupplies } = this.#options;
    let supplies = told;
    for (;;) {
      const met = this.#met.observe(supplies, clock.monotonicMs());
      const evicted = await this.#relieveOfOne(met, signal);
      if (evicted === undefined) return;
      await this.#untilGone(evicted, signal);
      supplies = await measureSupplies(signal);
    }
  }

  /** The pod that is being ended for the most pressing of them that anybody can be ended for. */
  async #relieveOfOne(met: readonly MetThreshold[], signal: AbortSignal): Promise<EndingPod | undefined> {
    const tried = new Set<StarvedResource>();
    for (const each of met) {
      const resource = resourceOf(each.rule.signal);
      // Several thresholds may tell of one disk; the second of two disks is looked after once the first is.
      if (tried.has(resource)) continue;
      tried.add(resource);
      const outcome = await this.#relieveOf(each, signal);
      if (outcome === 'relieved') return undefined;
      if (outcome !== 'nobody') return outcome;
    }
    return undefined;
  }

  /** The pod that is being ended for it; or there is enough without that, or nobody can go. */
  async #relieveOf(met: MetThreshold, signal: AbortSignal): Promise<EndingPod | 'relieved' | 'nobody'> {
    const { logger, onShort } = this.#options;
    const resource = resourceOf(met.rule.signal);
    logger.warn('Eviction manager: attempting to reclaim', { resourceName: resource });
    onShort(resource);
    const rest = await this.#clearUpFor(met, signal);
    if (rest === undefined) {
      logger.info('Eviction manager: able to reduce resource pressure without evicting pods', {
        resourceName: resource,
      });
      return 'relieved';
    }
    logger.info('Eviction manager: must evict pod(s) to reclaim', { resourceName: resource });
    const evicted = await this.#evictOneFor(rest, signal);
    if (evicted === undefined) logger.info('Eviction manager: unable to evict any pods from the node');
    return evicted ?? 'nobody';
  }

  /** What is short all the same; undefined when clearing up was enough. Of memory there is nothing to clear up. */
  async #clearUpFor(met: MetThreshold, signal: AbortSignal): Promise<MetThreshold | undefined> {
    const { clock, clearUp, hasImageDisk, measureSupplies, logger } = this.#options;
    const { signal: short } = met.rule;
    const resource = resourceOf(short);
    const isOnDisk = resource === 'ephemeral-storage' || resource === 'inodes';
    if (!isOnDisk) return met;
    const isElsewhere = await this.#withinTime(MEASURE_LIMIT_MS, signal, hasImageDisk);
    if (isElsewhere && short.startsWith('nodefs.')) return met;
    try {
      await this.#withinTime(CLEAR_UP_LIMIT_MS, signal, clearUp);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('Eviction manager: what nobody uses could not be removed', { err: error });
    }
    const left = this.#met.observe(await measureSupplies(signal), clock.monotonicMs());
    return left.find(({ rule }) => rule === met.rule);
  }

  async #evictOneFor(met: MetThreshold, signal: AbortSignal): Promise<EndingPod | undefined> {
    const { pods, measurePods, hasImageDisk, evict, logger } = this.#options;
    const { signal: short } = met.rule;
    const uses = await this.#withinTime(MEASURE_LIMIT_MS, signal, measurePods);
    const parts = diskPartsOf(short, await this.#withinTime(MEASURE_LIMIT_MS, signal, hasImageDisk));
    // Asked after the measuring, which may take seconds.
    const ranked = rankPods(pods(), { signal: short, uses, parts });
    logger.info('Eviction manager: pods ranked for eviction', { pods: ranked.map(nameOf) });
    for (const pod of ranked) {
      const names = { pod: nameOf(pod), podUID: pod.metadata.uid };
      if (isCriticalPod(pod)) {
        logger.warn('Eviction manager: cannot evict a critical pod', names);
        continue;
      }
      const gracePeriodSeconds = this.#graceOf(pod, met.rule);
      const message = toEvictionMessage(pod, uses.get(pod.metadata.uid), met);
      evict(pod, { signal: short, message, gracePeriodSeconds });
      logger.info('Eviction manager: pod is evicted', { ...names, message });
      return { pod, gracePeriodSeconds };
    }
    return undefined;
  }

  /** A node without memory or disk may hang anywhere. */
  async #withinTime<T>(
    limitMs: number,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const late = (): Error => new Error(`not done within ${formatGoDuration(limitMs)}`);
    return await withinTime({ clock: this.#options.clock, signal, late, limitMs }, call);
  }

  #graceOf({ spec }: NodePod, { isHard }: EvictionRule): number {
    if (isHard) return IMMEDIATE_GRACE_SECONDS;
    const { maxPodGraceSeconds } = this.#options;
    return Math.min(maxPodGraceSeconds, spec.terminationGracePeriodSeconds ?? maxPodGraceSeconds);
  }

  async #untilGone({ pod, gracePeriodSeconds }: EndingPod, signal: AbortSignal): Promise<void> {
    const { whenGone, clock, logger } = this.#options;
    const limitMs = gracePeriodSeconds * 1_000 + CLEAN_UP_LIMIT_MS;
    const waiting = new AbortController();
    const gone = whenGone(pod, AbortSignal.any([signal, waiting.signal]));
    const names = { pod: nameOf(pod), podUID: pod.metadata.uid };
    if (await settlesWithin(gone, limitMs, clock)) {
      logger.info('Eviction manager: pod is cleaned up', names);
    } else {
      logger.warn('Eviction manager: timed out waiting for a pod to be cleaned up', names);
    }
    waiting.abort();
    signal.throwIfAborted();
  }
}

interface EndingPod {
  readonly pod: NodePod;
  readonly gracePeriodSeconds: number;
}

function nameOf({ metadata: { namespace, name } }: NodePod): string {
  return `${namespace}/${name}`;
}
