import { type V1ContainerState, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { describeState } from './describe-status.js';

/** Whether a status is as a line of a story says. */
export type Condition = (status: V1PodStatus) => boolean;

const WORD = /(\S+?)[=~]("[^"]*"|\S+)/g;

/**
 * Reads words such as `phase=Running`, `ready=true`, `scheduled=true`, `reason=Evicted`, `main=running`, `main=waiting:ErrImagePull`,
 * `main=terminated:Error(3)`, `main.restarts=1` (at least so many), `main.ready=true`, `main.started=true`,
 * `main.last=terminated:Error(3)`, `main.message~"part"` (of an end) and `main.waiting~"part"` (why it waits). All of them have to hold at once.
 */
export function parseCondition(text: string): Condition {
  const words = [...text.matchAll(WORD)];
  if (words.map(([whole]) => whole).join(' ') !== text)
    throw new Error(`cannot read ${JSON.stringify(text)}`);
  const conditions = words.map(([, key, value]) => toCondition(key!, value!.replaceAll('"', '')));
  return (status) => conditions.every((condition) => condition(status));
}

function toCondition(key: string, value: string): Condition {
  switch (key) {
    case 'phase':
      return (status) => status.phase === value;
    case 'reason':
      return (status) => status.reason === value;
    case 'ready':
      return (status) => conditionOf(status, 'Ready') === value;
    case 'initialized':
      return (status) => conditionOf(status, 'Initialized') === value;
    case 'scheduled':
      return (status) => conditionOf(status, 'PodScheduled') === value;
  }
  const [name, field] = key.split('.');
  return (status) => {
    const { initContainerStatuses = [], containerStatuses, ephemeralContainerStatuses = [] } = status;
    const all = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
    const container = all.find((each) => each.name === name);
    return container !== undefined && holds(container, field, value);
  };
}

function conditionOf(status: V1PodStatus, type: string): string {
  return String(status.conditions.find((each) => each.type === type)?.status === 'True');
}

function holds(container: V1ContainerStatus, field: string | undefined, value: string): boolean {
  switch (field) {
    case undefined:
      return describes(value, container.state);
    case 'last':
      return describes(value, container.lastState);
    case 'restarts':
      return container.restartCount >= Number(value);
    case 'ready':
      return String(container.ready) === value;
    case 'started':
      return String(container.started) === value;
    case 'waiting':
      return (container.state.waiting?.message ?? '').includes(value);
    case 'message':
      return (container.state.terminated?.message ?? '').includes(value);
    default:
      throw new Error(`a container has no ${field}`);
  }
}

/** `terminated` describes every end, `terminated:Error(3)` that one. */
function describes(value: string, state: V1ContainerState): boolean {
  const full = describeState(state);
  return full === value || full.startsWith(`${value}:`);
}
