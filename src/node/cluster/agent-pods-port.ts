import type { AgentPods } from '#cluster';
import { API_SOURCE, isClusterPod } from '#kube/pod/static-pod.js';
import { isTerminalPhase } from '#kube/pod/v1-pod-status.js';
import { toRunDefinition } from '../pods/loop/asks-for-new-run.js';
import { isRunning } from '../pods/loop/housekeeping-owner.js';
import { type AgentParts } from '../parts/agent-parts.js';

/** What the agent knows of pods of an API server, and does for them. */
export function buildAgentPods(
  parts: Pick<
    AgentParts,
    'sources' | 'manager' | 'workers' | 'desired' | 'endedPods' | 'cache' | 'pleg' | 'handlers'
  >,
): AgentPods {
  const { sources, manager, workers, desired, endedPods, cache, pleg, handlers } = parts;
  // Uses the newest list: for a pod whose status is missing or unavailable, only that shows that it runs. A
  // runtime that does not answer about a pod has not shown that all of it has ended.
  const mayBeSeenRunning = (uid: string): boolean => {
    const seen = pleg.findObserved(uid);
    return cache.get(uid).error !== undefined || (seen !== undefined && isRunning(seen));
  };
  return {
    deliver: (pods) => sources.api?.deliver(pods),
    findRefusal: (uid) => sources.config.findRefusal(API_SOURCE, uid),
    markEnded: (pod, status) => {
      const { uid } = pod.metadata;
      const { phase, reason = '', message = '' } = status;
      if (endedPods.find(uid) !== undefined || !isTerminalPhase(phase)) return;
      const { initContainerStatuses = [], containerStatuses } = status;
      // If the server shows it running, its end is yet to be seen; otherwise the server's last state is
      // final.
      const isFinished = [...initContainerStatuses, ...containerStatuses].every(
        ({ state }) => !state.running,
      );
      void endedPods.keep(uid, { definition: toRunDefinition(pod), status, isFinished });
      const kill = { statusOverride: { phase, reason, message } };
      if (workers.isKnown(uid)) workers.updatePod({ type: 'kill', pod, kill });
      // Perhaps it waits for room that it does not need any more.
      else handlers.podEndChanged(uid);
    },
    findStatus: (uid) => manager.find(uid),
    findStatusPod: (uid) => manager.findPod(uid),
    statuses: () => manager.list(),
    watchStatuses: () => manager.subscribe(),
    mayHaveRunning: (uid) => {
      if (workers.isKnown(uid)) return workers.couldHaveRunningContainers(uid);
      // A rejected pod has never had a worker, and housekeeping need not confirm that.
      const wasNeverBegun = desired.findRejection(uid) !== undefined;
      return mayBeSeenRunning(uid) || (!wasNeverBegun && workers.couldHaveRunningContainers(uid));
    },
    // A pod that was rejected, or came and went, has never had a worker. Neither has one that cannot be read,
    // or whose name is now another's: what an earlier agent has started may run until housekeeping has ended
    // it.
    isFinished: (uid) =>
      workers.isKnown(uid)
        ? workers.isFinished(uid)
        : !workers.couldHaveRunningContainers(uid) && !mayBeSeenRunning(uid),
    staticPods: () => {
      if (!sources.config.seenAllSources(API_SOURCE)) return undefined;
      return [...desired.all()].filter((pod) => !isClusterPod(pod));
    },
    judgeRejected: () => handlers.judgeRejected(),
  };
}
