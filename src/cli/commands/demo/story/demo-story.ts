import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';

/** After so many restarts a container that keeps failing has shown what it does. */
const RESTARTS_TO_SHOW = 2;

/** Of what no further attempt in the demo would make anything else: its images are this machine's files. */
const HOPELESS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
]);

/** Whether a pod has nothing more to show: each container runs, or is through, or has failed often enough. Pure. */
export function isStoryTold({ initContainerStatuses = [], containerStatuses }: V1PodStatus): boolean {
  return [...initContainerStatuses, ...containerStatuses].every(({ state, restartCount }) => {
    if (state.running !== undefined || state.terminated !== undefined) return true;
    return state.waiting?.reason === 'CrashLoopBackOff' && restartCount >= RESTARTS_TO_SHOW;
  });
}

/** Why a pod of the demo can never run, in one sentence; undefined when it can. Pure. */
export function findHopeless(status: V1PodStatus): string | undefined {
  const { initContainerStatuses = [], containerStatuses, phase, reason, message } = status;
  if (phase === 'Failed' && containerStatuses.length === 0 && reason !== undefined) {
    return `it was rejected: ${reason}: ${message ?? ''}`;
  }
  const each = [...initContainerStatuses, ...containerStatuses].find(isHopeless);
  return (
    each &&
    `container ${each.name}: ${each.state.waiting?.reason ?? ''}: ${each.state.waiting?.message ?? ''}`
  );
}

function isHopeless({ state }: V1ContainerStatus): boolean {
  return HOPELESS.has(state.waiting?.reason ?? '');
}
