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
   * What these use, by uid, and nothing that is not needed; those that are not in it use something that nobody knows. Rejects
   * when that can be told of none.
   */
  readonly measurePods: (
    pods: readonly NodePod[],
    needs: PodUseNeeds,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, PodUse>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A pod that is to go, and what it uses. */
export interface Victim {
  readonly pod: NodePod;
  readonly use: PodUse | undefined;
}

/** More than any measuring has by itself. */
const MEASURE_LIMIT_MS = 30_000;
/** So often nobody is chosen while volumes are being counted: about a minute. A disk is not filled that fast. */
const MOST_POSTPONED = 3;

/** Chooses who goes, from when a node is short of something until it is short of nothing. */
export class VictimChoice {
  readonly #options: VictimChoiceOptions;
  /** How often in a row. */
  #postponed = 0;

  constructor(options: VictimChoiceOptions) {
    this.#options = options;
  }

  /** Undefined when nobody can go now, which is said. Rejects when nobody knows what pods use. */
  async choose(short: EvictionSignal, parts: DiskParts, signal: AbortSignal): Promise<Victim | undefined> {
    const { pods, measurePods, clock, logger } = this.#options;
    const needs = needsOf(short, parts);
    const measured = pods();
    const uses = await withinTime({ clock, signal, limitMs: MEASURE_LIMIT_MS }, async (limited) =>
      measurePods(measured, needs, limited),
    );
    // It may take seconds: who has ended by now cannot go, and of who has come nobody has asked what it uses.
    const asked = new Set(measured.map(({ metadata }) => metadata.uid));
    const present = pods().filter(({ metadata }) => asked.has(metadata.uid));
    const ranked = rankPods(present, { signal: short, uses, parts });
    logger.info('Eviction manager: pods ranked for eviction', {
      pods: ranked.map(({ metadata }) => formatPod(metadata)),
    });
    const candidates = ranked.filter((pod) => !isCriticalPod(pod));
    const uncounted = candidates.filter((pod) => isUncounted(uses.get(pod.metadata.uid), needs));
    if (uncounted.length > 0 && this.#postponed < MOST_POSTPONED) {
      this.#postponed++;
      logger.info('Eviction manager: volumes are being counted', {
        pods: uncounted.map(({ metadata }) => formatPod(metadata)),
      });
      return undefined;
    }
    // What is short of something else, of which no files are counted, says nothing of it.
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

/** It runs, and how much of the disk its volumes take is to be known and is not yet. */
function isUncounted(use: PodUse | undefined, { volumes }: PodUseNeeds): boolean {
  if (use === undefined || volumes === false) return false;
  return (volumes === 'bytes' ? use.volumeBytes : use.volumeInodes) === undefined;
}
