import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type PodUse, type PodUseNeeds } from '#kube/pod/pod-use.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { withinTime } from '#base/async/within-time.js';
import { type DiskParts, needsOf } from './pod-consumption.js';
import { rankPods } from './rank-pods.js';

/** What {@link VictimChoice} needs. */
export interface VictimChoiceOptions {
  /** Pods that may run and are not being ended. */
  readonly pods: () => readonly NodePod[];
  /**
   * Their usage by uid, only as far as needed; a missing pod has unknown usage. Rejects when none is known.
   */
  readonly measurePods: (
    pods: readonly NodePod[],
    needs: PodUseNeeds,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, PodUse>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A pod to evict, and its usage. */
export interface Victim {
  readonly pod: NodePod;
  readonly use: PodUse | undefined;
}

/** Longer than any single measurement. */
const MEASURE_LIMIT_MS = 30_000;
/**
 * How often the choice is postponed while volumes are being counted: about a minute. A disk does not fill
 * that fast.
 */
const MAX_POSTPONED = 3;

/** Chooses pods to evict, from the beginning of a shortage to the end of all. */
export class VictimChoice {
  readonly #options: VictimChoiceOptions;
  /** How often in a row. */
  #postponed = 0;

  constructor(options: VictimChoiceOptions) {
    this.#options = options;
  }

  /** Undefined when no pod can go now, which is logged. Rejects when no usage is known. */
  async choose(short: EvictionSignal, parts: DiskParts, signal: AbortSignal): Promise<Victim | undefined> {
    const { pods, measurePods, clock, logger } = this.#options;
    const needs = needsOf(short, parts);
    const measured = pods();
    const uses = await withinTime({ clock, signal, limitMs: MEASURE_LIMIT_MS }, async (limited) =>
      measurePods(measured, needs, limited),
    );
    // Measuring may take seconds: pods that have ended by now cannot go, and the usage of new ones is
    // unknown.
    const asked = new Set(measured.map(({ metadata }) => metadata.uid));
    const present = pods().filter(({ metadata }) => asked.has(metadata.uid));
    const ranked = rankPods(present, { signal: short, uses, parts });
    logger.info('Eviction manager: pods ranked for eviction', {
      pods: ranked.map(({ metadata }) => formatPod(metadata)),
    });
    const candidates = ranked.filter((pod) => !isCriticalPod(pod));
    const uncounted = candidates.filter((pod) => isUncounted(uses.get(pod.metadata.uid), needs));
    if (uncounted.length > 0 && this.#postponed < MAX_POSTPONED) {
      this.#postponed++;
      logger.info('Eviction manager: volumes are being counted', {
        pods: uncounted.map(({ metadata }) => formatPod(metadata)),
      });
      return undefined;
    }
    // A shortage without counted files says nothing about it.
    if (needs.volumes) this.#postponed = 0;
    const [pod] = candidates;
    for (const critical of ranked.slice(0, pod && ranked.indexOf(pod))) {
      const { uid } = critical.metadata;
      logger.warn('Eviction manager: cannot evict a critical pod', {
        pod: formatPod(critical.metadata),
        podUID: uid,
      });
    }
    if (pod !== undefined) return { pod, use: uses.get(pod.metadata.uid) };
    logger.info('Eviction manager: unable to evict any pods from the node');
    return undefined;
  }
}

/** It runs, and the needed disk usage of its volumes is not known yet. */
function isUncounted(use: PodUse | undefined, { volumes }: PodUseNeeds): boolean {
  if (use === undefined || volumes === false) return false;
  return (volumes === 'bytes' ? use.volumeBytes : use.volumeInodes) === undefined;
}
