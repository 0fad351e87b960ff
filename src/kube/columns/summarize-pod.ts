import { parseTime } from './human-age.js';
import {
  type ContainerObject,
  type ContainerStateObject,
  type ContainerStatusObject,
  type PodStatusObject,
} from './kube-object.js';

/** The content of a pod's line in a table. */
export interface PodSummary {
  /** kubectl's word: Running, CrashLoopBackOff, Init:0/2, Completed, ErrImagePull, Terminating … */
  readonly status: string;
  /** How many regular containers and sidecars are ready. */
  readonly ready: number;
  readonly total: number;
  /** Restarts of all containers while init containers run, then those of regular containers and sidecars. */
  readonly restarts: number;
  /** When the container that was restarted last had ended, in milliseconds since the epoch. */
  readonly lastRestartAtMs: number | undefined;
}

/** The input of a {@link PodSummary}. */
export interface SummarizedPod {
  readonly spec: {
    readonly containers?: readonly ContainerObject[];
    readonly initContainers?: readonly ContainerObject[];
  };
  readonly status: PodStatusObject;
  /** Its deletion was requested, but it still exists. */
  readonly isTerminating: boolean;
}

/** The sum over the containers of one kind. */
interface Progress {
  /** Undefined if these containers do not determine the pod's status. */
  readonly status: string | undefined;
  readonly ready: number;
  readonly counted: readonly ContainerStatusObject[];
}

/**
 * Summarizes a pod in the words of `kubectl get pods`. Pure.
 *
 * Source: https://kubernetes.io/docs/reference/kubectl/quick-reference/ and kubectl's output.
 */
export function summarizePod({ spec, status, isTerminating }: SummarizedPod): PodSummary {
  const { initContainers = [], containers = [] } = spec;
  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name));
  const init = followInit(status, sidecars, initContainers.length);
  const isInitialized = init.status === undefined || hasCondition(status, 'Initialized');
  const regular: Progress = isInitialized
    ? followRegular(status)
    : { status: undefined, ready: 0, counted: [] };
  const counted = isInitialized
    ? [...init.counted.filter(({ name }) => sidecars.has(name)), ...regular.counted]
    : init.counted;
  return {
    status:
      (isTerminating ? endingWord(status, regular.status) : undefined) ??
      regular.status ??
      init.status ??
      podWord(status),
    ready: init.ready + regular.ready,
    total: containers.length + sidecars.size,
    restarts: counted.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    lastRestartAtMs: lastEndMs(counted),
  };
}

/** The first unfinished init container determines the status. */
function followInit(
  { initContainerStatuses = [] }: PodStatusObject,
  sidecars: ReadonlySet<string | undefined>,
  specified: number,
): Progress {
  let ready = 0;
  for (const [index, each] of initContainerStatuses.entries()) {
    const { state = {} } = each;
    if (state.terminated?.exitCode === 0) continue;
    if (sidecars.has(each.name) && each.started === true) {
      if (each.ready === true) ready++;
      continue;
    }
    const counted = initContainerStatuses.slice(0, index + 1);
    return { status: `Init:${initWord(state) ?? `${index}/${specified}`}`, ready, counted };
  }
  return { status: undefined, ready, counted: initContainerStatuses };
}

function initWord(state: ContainerStateObject): string | undefined {
  const word = state.terminated === undefined ? containerWord(state) : endWord(state.terminated);
  return word === 'PodInitializing' ? undefined : word;
}

/** The first regular container with a word of its own determines the status. */
function followRegular(status: PodStatusObject): Progress {
  const { containerStatuses: counted = [] } = status;
  const words = counted.map(({ state = {} }) => containerWord(state));
  const ready = counted.filter(
    (each, index) => each.ready === true && each.state?.running !== undefined && words[index] === undefined,
  ).length;
  const word = words.find((each) => each !== undefined);
  // Some have completed and some still run.
  if (word !== 'Completed' || ready === 0) return { status: word, ready, counted };
  return { status: hasCondition(status, 'Ready') ? 'Running' : 'NotReady', ready, counted };
}

/** Undefined for a container that just runs. */
function containerWord({ waiting, terminated }: ContainerStateObject): string | undefined {
  if (waiting?.reason !== undefined && waiting.reason !== '') return waiting.reason;
  return terminated === undefined ? undefined : endWord(terminated);
}

function endWord({
  reason = '',
  signal = 0,
  exitCode = 0,
}: NonNullable<ContainerStateObject['terminated']>): string {
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

/** The reason of a container whose end nobody saw. */
const UNKNOWN_END = 'ContainerStatusUnknown';

/**
 * Undefined for a pod that has ended, as its final status is shown. Where nobody saw how a container ended, it says less
 * than that the pod is going.
 */
function endingWord(
  { reason, phase }: PodStatusObject,
  ofContainers: string | undefined,
): string | undefined {
  if (reason === 'NodeLost') return 'Unknown';
  if (ofContainers === UNKNOWN_END) return 'Terminating';
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating';
}

function podWord({ conditions = [], reason = '', phase = 'Unknown' }: PodStatusObject): string {
  const isGated = conditions.some((one) => one.type === 'PodScheduled' && one.reason === 'SchedulingGated');
  if (isGated) return 'SchedulingGated';
  return reason === '' ? phase : reason;
}

function hasCondition({ conditions = [] }: PodStatusObject, type: 'Initialized' | 'Ready'): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

function lastEndMs(statuses: readonly ContainerStatusObject[]): number | undefined {
  const ends = statuses
    .map(({ lastState }) => parseTime(lastState?.terminated?.finishedAt))
    .filter((ms) => ms !== undefined);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function isSidecar({ restartPolicy }: ContainerObject): boolean {
  return restartPolicy === 'Always';
}
