import type { ClusterNode } from '../../cluster/node/cluster-node.js';
import type { NodeEvent } from '../../cluster/node/node-ports.js';
import { EvictionManager } from '../../eviction/eviction-manager.js';
import { toEvictionRules } from '../../eviction/eviction-rules.js';
import { isClusterPod } from '../../model/static-pod.js';
import { type Clock } from '../../util/clock.js';
import { parseGoDuration } from '../../util/go-duration.js';
import { type Logger } from '../../util/logger.js';
import { type AgentOptions } from '../agent-options.js';
import { type AgentParts } from '../agent-parts.js';

/** What {@link buildEviction} needs. */
export interface EvictionParts {
  readonly options: AgentOptions;
  readonly parts: AgentParts;
  /** The node that looks at what is left; once there is one. */
  readonly node: () => ClusterNode | undefined;
  readonly onEvent: (event: NodeEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As often it is looked whether a pod that ends is gone. */
const GONE_LOOK_MS = 500;

/** Wires the evictions of a node to its agent. Throws an Error that says which threshold is wrong. */
export function buildEviction(given: EvictionParts): EvictionManager {
  const { options, parts, node, onEvent, clock, logger } = given;
  const { desired, workers, collectors, evictor, uses, imageDisk } = parts;
  return new EvictionManager({
    rules: toEvictionRules({
      hard: options.evictionHard,
      soft: options.evictionSoft,
      softGraceMs: toMilliseconds(options.evictionSoftGracePeriod),
      minimumReclaim: options.evictionMinimumReclaim,
    }),
    maxPodGraceSeconds: options.evictionMaxPodGracePeriodSeconds,
    pods: () => [...desired.all()].filter((pod) => evictor.isActive(pod)),
    measurePods: async (active, needs, signal) => uses.measure(active, needs, signal),
    measureSupplies: async (signal) => (await node()?.measureSupplies(signal)) ?? {},
    hasImageDisk: async (signal) => imageDisk.isOwn(signal),
    clearUp: async (signal) => {
      await collectors.containers.collectAll((uid) => isOver(uid), signal);
      await collectors.images.collectAll(signal);
    },
    evict: (pod, eviction) => evictor.evict(pod, eviction),
    whenGone: async (pod, signal) => {
      while (!workers.isFinished(pod.metadata.uid) && workers.isKnown(pod.metadata.uid)) {
        await clock.sleep(GONE_LOOK_MS, signal);
      }
    },
    onShort: (resource) =>
      onEvent({
        type: 'Warning',
        reason: 'EvictionThresholdMet',
        message: `Attempting to reclaim ${resource}`,
      }),
    ...{ clock, logger },
  });

  /** Nothing of it is started again, whatever becomes of its containers. */
  function isOver(uid: string): boolean {
    const pod = desired.find(uid);
    return pod !== undefined && isClusterPod(pod) && workers.isFinished(uid);
  }
}

function toMilliseconds(durations: Readonly<Record<string, string>>): Record<string, number> {
  const entries = Object.entries(durations);
  return Object.fromEntries(entries.map(([signal, text]) => [signal, parseGoDuration(text, signal)]));
}
