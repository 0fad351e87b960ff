import { formatFieldProblem } from '#kube/fields/field-problem.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { findForbidden, type NodePolicy, POD_FORBIDDEN } from '#kube/node/node-policy.js';
import { PodloopError } from '#base/errors/errors.js';
import { type PodSyncer } from '../workers/pod-syncer.js';

import { type Rejection } from '../loop/desired-pods.js';

/**
 * Why a pod may not run on this node, naming each field that asks for too much; undefined when it may. Pure.
 */
export function rejectForbidden(pod: NodePod, policy: NodePolicy): Rejection | undefined {
  const problems = findForbidden(pod, policy);
  if (problems.length === 0) return undefined;
  return {
    reason: POD_FORBIDDEN,
    message: `Pod was rejected: ${problems.map(formatFieldProblem).join('; ')}`,
  };
}

/**
 * Wraps a syncer so that it never syncs a forbidden pod, however that got past admission. It does end such
 * pods.
 */
export function sparingForbiddenPods(
  syncer: PodSyncer,
  findForbiddenPod: (pod: NodePod) => Rejection | undefined,
): PodSyncer {
  return {
    syncPod: async (work, signal) => {
      const rejection = findForbiddenPod(work.pod);
      if (rejection !== undefined) throw new PodloopError('POD_SYNC_FAILED', rejection.message);
      return await syncer.syncPod(work, signal);
    },
    isSettled: (pod, observed) => syncer.isSettled?.(pod, observed) === true && !findForbiddenPod(pod),
    syncTerminatingPod: async (work, signal) => await syncer.syncTerminatingPod(work, signal),
    syncTerminatingRuntimePod: async (work, signal) => await syncer.syncTerminatingRuntimePod(work, signal),
    syncTerminatedPod: async (work, signal) => await syncer.syncTerminatedPod(work, signal),
  };
}
