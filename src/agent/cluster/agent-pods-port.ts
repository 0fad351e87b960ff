import { type AgentPods } from '../../cluster/pods/agent-pods.js';
import { isClusterPod } from '../../model/static-pod.js';
import { toRunDefinition } from '../../sync/asks-for-new-run.js';
import { type AgentParts } from '../agent-parts.js';
import { API_SOURCE } from '../pod-sources.js';

/** What the agent does for pods of an API server, and knows of them. */
export function buildAgentPods(
  parts: Pick<AgentParts, 'sources' | 'manager' | 'workers' | 'desired' | 'endedPods' | 'loop'>,
): AgentPods {
  const { sources, manager, workers, desired, endedPods, loop } = parts;
  return {
    deliver: (pods) => sources.api?.deliver(pods),
    markEnded: (pod, status) => {
      const { uid } = pod.metadata;
      if (endedPods.find(uid) !== undefined) return;
      void endedPods.keep(uid, { definition: toRunDefinition(pod), status, isFinished: false });
      // Whatever runs of it is ended with its next sync.
      loop.syncSoon([uid]);
    },
    findStatus: (uid) => manager.find(uid),
    findStatusPod: (uid) => manager.findPod(uid),
    statuses: () => manager.list(),
    watchStatuses: () => manager.subscribe(),
    mayHaveRunning: (uid) => workers.couldHaveRunningContainers(uid),
    // One that was rejected, or came and went, has never had a worker.
    isFinished: (uid) =>
      workers.isKnown(uid) ? workers.isFinished(uid) : !workers.couldHaveRunningContainers(uid),
    staticPods: () => {
      if (!sources.config.seenAllSources(API_SOURCE)) return undefined;
      return [...desired.all()].filter((pod) => !isClusterPod(pod));
    },
  };
}
