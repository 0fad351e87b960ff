import { type Container } from '../model/container.js';
import { type PodSpec } from '../model/pod.js';
import {
  isTerminalPhase,
  type V1ContainerState,
  type V1ContainerStatus,
  type V1ContainerTerminated,
  type V1PodStatus,
} from '../model/v1-pod-status.js';

/** What a pod's line says of it. */
export interface PodSummary {
  /** kubectl's word: Running, CrashLoopBackOff, Init:0/2, Completed, ErrImagePull, Terminating … */
  readonly status: string;
  /** Containers that are ready, of those that stay: regular ones and sidecars. */
  readonly ready: number;
  readonly total: number;
  /** Of all containers while init containers run, then of those that stay. */
  readonly restarts: number;
  /** When the last container that was restarted had ended, milliseconds since the epoch. */
  readonly lastRestartAtMs: number | undefined;
}

/** What a {@link PodSummary} follows from. */
export interface SummarizedPod {
  readonly spec: Pick<PodSpec, 'initContainers' | 'containers'>;
  readonly status: V1PodStatus;
  /** Somebody wants it gone, and it is not yet. */
  readonly isTerminating: boolean;
}

/** What the containers of one kind add up to. */
interface Progress {
  /** Undefined when they say nothing of the pod. */
  readonly status: string | undefined;
  readonly ready: number;
  readonly counted: readonly V1ContainerStatus[];
}

/**
 * A pod in the words that `kubectl get pods` has for it. Pure.
 *
 * Source: https://kubernetes.io/docs/reference/kubectl/quick-reference/ and what kubectl prints.
 */
export function summarizePod({ spec, status, isTerminating }: SummarizedPod): PodSummary {
  const { initContainers = [], containers } = spec;
  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name));
  const init = followInit(status, sidecars, initContainers.length);
  const isInitialized = init.status === undefined || hasCondition(status, 'Initialized');
  const regular: Progress = isInitialized
    ? followRegular(status)
    : { status: undefined, ready: 0, counted: [] };
  const counted = isInitialized
    ? [...init.counted.filter(({ name }) => sidecars.has(name)), ...regular.counted]
    : init.counted;
  const word = regular.status ?? init.status ?? status.reason ?? status.phase;
  return {
    status: isTerminating && !isTerminalPhase(status.phase) ? 'Terminating' : word,
    ready: init.ready + regular.ready,
    total: containers.length + sidecars.size,
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestartAtMs: lastEndMs(counted),
  };
}

/** The first init container that is not through says how far the pod is. */
function followInit(
  { initContainerStatuses = [] }: V1PodStatus,
  sidecars: ReadonlySet<string>,
  specified: number,
): Progress {
  let ready = 0;
  for (const [index, each] of initContainerStatuses.entries()) {
    if (each.state.terminated?.exitCode === 0) continue;
    if (sidecars.has(each.name) && each.started) {
      if (each.ready) ready++;
      continue;
    }
    const counted = initContainerStatuses.slice(0, index + 1);
    return { status: `Init:${initWord(each.state) ?? `${index}/${specified}`}`, ready, counted };
  }
  return { status: undefined, ready, counted: initContainerStatuses };
}

function initWord({ terminated, waiting }: V1ContainerState): string | undefined {
  if (terminated !== undefined) return endWord(terminated);
  const reason = waiting?.reason ?? '';
  return reason === '' || reason === 'PodInitializing' ? undefined : reason;
}

/** The first regular container that has something to say speaks for all. */
function followRegular(status: V1PodStatus): Progress {
  const { containerStatuses: counted } = status;
  const ready = counted.filter((each) => each.ready && each.state.running !== undefined).length;
  const words = counted.map(({ state }) => {
    if (state.terminated !== undefined) return endWord(state.terminated);
    return state.waiting?.reason === '' ? undefined : state.waiting?.reason;
  });
  const word = words.find((each) => each !== undefined);
  // Some are through and some still work.
  if (word !== 'Completed' || ready === 0) return { status: word, ready, counted };
  return { status: hasCondition(status, 'Ready') ? 'Running' : 'NotReady', ready, counted };
}

function endWord({ reason, exitCode }: V1ContainerTerminated): string {
  return reason === '' ? `ExitCode:${exitCode}` : reason;
}

function hasCondition({ conditions }: V1PodStatus, type: 'Initialized' | 'Ready'): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

function lastEndMs(statuses: readonly V1ContainerStatus[]): number | undefined {
  const ends = statuses
    .map(({ lastState }) => Date.parse(lastState.terminated?.finishedAt ?? ''))
    .filter((ms) => !Number.isNaN(ms));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always';
}
