import { type V1ContainerState, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';

/** A status in one line, in the words of stories, for whoever looks into a failure. */
export function describeStatus(status: V1PodStatus | undefined): string {
  if (status === undefined) return 'gone';
  const { phase, reason, conditions, initContainerStatuses = [], containerStatuses } = status;
  const isReady = conditions.some((each) => each.type === 'Ready' && each.status === 'True');
  const pod = [`phase=${phase}`, ...(reason === undefined ? [] : [`reason=${reason}`]), `ready=${isReady}`];
  const containers = [...initContainerStatuses, ...containerStatuses].map(describeContainer);
  return [...pod, ...containers].join(' ');
}

/** `running`, `waiting:REASON`, `terminated:REASON(CODE)` or `none`. */
export function describeState({ waiting, running, terminated }: V1ContainerState): string {
  if (waiting !== undefined) return `waiting:${waiting.reason}`;
  if (running !== undefined) return 'running';
  return terminated === undefined ? 'none' : `terminated:${terminated.reason}(${terminated.exitCode})`;
}

function describeContainer({
  name,
  state,
  lastState,
  restartCount,
  ready,
  started,
}: V1ContainerStatus): string {
  const last = describeState(lastState);
  const more = [
    ...(restartCount > 0 ? [`restarts=${restartCount}`] : []),
    ...(last === 'none' ? [] : [`last=${last}`]),
    ...(started ? ['started'] : []),
    ...(ready ? ['ready'] : []),
  ];
  return `${name}=${describeState(state)}${more.length > 0 ? `[${more.join(' ')}]` : ''}`;
}
