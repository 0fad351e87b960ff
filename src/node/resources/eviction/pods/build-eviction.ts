import type { ClusterNode, NodeEvent } from '#cluster';
import { EvictionManager } from '../eviction-manager.js';
import { toEvictionRules } from '../eviction-rules.js';
import { withMemoryOfPods } from '#kube/node/eviction-thresholds.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Clock } from '#base/time/clock.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../../../options/agent-options.js';
import { type AgentParts } from '../../../parts/agent-parts.js';
import { clearUp } from './clear-up.js';
import { toIsOver, untilFinished } from './finished-pods.js';

/** What {@link buildEviction} needs. */
export interface EvictionParts {
  readonly options: AgentOptions;
  readonly parts: AgentParts;
  /** The node that measures what is left; once there is one. */
  readonly node: () => ClusterNode | undefined;
  /** The API server's status of a pod; undefined when it has none. */
  readonly findReported: (podUid: string) => V1PodStatus | undefined;
  readonly onEvent: (event: NodeEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Connects the evictions of a node to its agent. Throws an Error that names an invalid threshold. */
export function buildEviction(given: EvictionParts): EvictionManager {
  const { options, parts, node, onEvent, clock, logger } = given;
  const { desired, workers, cache, collectors, seenAllSources, evictor, uses, imageDisk } = parts;
  const isOver = toIsOver({ ...parts, findReported: given.findReported });
  return new EvictionManager({
    rules: toEvictionRules({
      hard: withMemoryOfPods(options.evictionHard, options),
      soft: options.evictionSoft,
      softGraceMs: toMilliseconds(options.evictionSoftGracePeriod),
      minimumReclaim: withMemoryOfPods(options.evictionMinimumReclaim, options),
    }),
    maxPodGraceSeconds: options.evictionMaxPodGracePeriodSeconds,
    pods: () => [...desired.all()].filter((pod) => evictor.isActive(pod)),
    measurePods: async (active, needs, signal) => uses.measure(active, needs, signal),
    measureSupplies: async (signal) => (await node()?.measureSupplies(signal)) ?? {},
    hasImageDisk: async (signal) => imageDisk.isOwn(signal),
    clearUp: async (signal) => clearUp({ collectors, cache, seenAllSources, isOver, clock }, signal),
    evict: (pod, eviction) => evictor.evict(pod, eviction),
    whenGone: async (pod, signal) => untilFinished(pod.metadata.uid, { workers, clock }, signal),
    onShort: (resource) =>
      onEvent({
        type: 'Warning',
        reason: 'EvictionThresholdMet',
        message: `Attempting to reclaim ${resource}`,
      }),
    ...{ clock, logger },
  });
}

function toMilliseconds(durations: Readonly<Record<string, string>>): Record<string, number> {
  const entries = Object.entries(durations);
  return Object.fromEntries(
    entries.map(([signal, text]) => [signal, parseGoDuration(text, `evictionSoftGracePeriod: ${signal}`)]),
  );
}
