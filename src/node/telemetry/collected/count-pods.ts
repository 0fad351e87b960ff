import { isStaticPod } from '#kube/pod/static-pod.js';
import { type CountByOrigin, type PodCounts, type WorkingPod } from '../metrics/pod-count-metrics.js';
import { type WorkType } from '../../pods/workers/worker-state.js';
import { type AgentParts } from '../../parts/agent-parts.js';

const LIFECYCLES: Readonly<Record<WorkType, WorkingPod['lifecycle']>> = {
  SyncPod: 'sync',
  TerminatingPod: 'terminating',
  TerminatedPod: 'terminated',
};

/** The parts of an agent that are read. */
export interface CountedParts {
  readonly desired: Pick<AgentParts['desired'], 'all' | 'has' | 'findRejection'>;
  readonly workers: Pick<AgentParts['workers'], 'lives' | 'isKnownTerminated'>;
}

/** Counts the present pods of an agent by what is wanted of them. */
export function countPods({ desired, workers }: CountedParts): Omit<PodCounts, 'mirrors'> {
  const wanted = { static: 0, other: 0 };
  const active = { static: 0, other: 0 };
  let ephemeralContainers = 0;
  for (const pod of desired.all()) {
    const { uid } = pod.metadata;
    const origin: keyof CountByOrigin = isStaticPod(pod) ? 'static' : 'other';
    wanted[origin]++;
    if (desired.findRejection(uid) === undefined && !workers.isKnownTerminated(uid)) active[origin]++;
    ephemeralContainers += pod.spec.ephemeralContainers?.length ?? 0;
  }
  const working = [...workers.lives()].map(({ uid, state, hasConfig, isStatic }): WorkingPod => {
    const config = desired.has(uid) ? 'desired' : hasConfig ? 'orphan' : 'runtime_only';
    return { lifecycle: LIFECYCLES[state], config, isStatic };
  });
  return { desired: wanted, active, working, ephemeralContainers };
}
