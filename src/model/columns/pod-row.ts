import { type ContainerStatusObject, type PodObject } from './kube-object.js';
import { formatAge, parseTime } from './human-age.js';

/** What a table shows of a pod beside its name and age. */
export interface PodSummary {
  readonly ready: string;
  /** The word that says most about how the pod is: `Running`, `CrashLoopBackOff`, `Init:0/2`, `Terminating` … */
  readonly status: string;
  /** `3 (10s ago)`. */
  readonly restarts: string;
}

/** Restarts, and when the last one was. */
interface Restarts {
  readonly count: number;
  readonly lastMs: number | undefined;
}

/** What became of the init containers: the status they give the pod while they are not done. */
interface InitProgress {
  readonly status: string | undefined;
  /** Of all init containers, and of the sidecars among them. */
  readonly all: Restarts;
  readonly sidecars: Restarts;
  readonly readySidecars: number;
}

/** Summarizes a pod in the words and by the rules of `kubectl get pods`. */
export function summarizePod(pod: PodObject, nowMs: number): PodSummary {
  const { spec = {}, status = {}, metadata = {} } = pod;
  const { phase = 'Unknown', conditions = [] } = status;
  const init = followInitContainers(pod);
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const total = (spec.containers ?? []).length + sidecars.length;
  const gated = conditions.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  let word = gated ? 'SchedulingGated' : status.reason || phase;
  let ready = init.readySidecars;
  let restarts = init.all;
  const initialized = conditions.some((one) => one.type === 'Initialized' && one.status === 'True');
  if (init.status !== undefined) word = init.status;
  if (init.status === undefined || initialized) {
    const containers = status.containerStatuses ?? [];
    restarts = containers.reduce(addRestarts, init.sidecars);
    const running = containers.filter((one) => isReadyAndRunning(one)).length;
    ready += running;
    word = wordOfContainers(containers) ?? word;
    if (word === 'Completed' && running > 0) word = isReady(pod) ? 'Running' : 'NotReady';
  }
  if (metadata.deletionTimestamp !== undefined) {
    if (status.reason === 'NodeLost') word = 'Unknown';
    else if (phase !== 'Succeeded' && phase !== 'Failed') word = 'Terminating';
  }
  return { ready: `${ready}/${total}`, status: word, restarts: formatRestarts(restarts, nowMs) };
}

function followInitContainers({ spec = {}, status = {} }: PodObject): InitProgress {
  const isSidecar = (name: string | undefined): boolean =>
    (spec.initContainers ?? []).some((one) => one.name === name && one.restartPolicy === 'Always');
  let all: Restarts = { count: 0, lastMs: undefined };
  let sidecars = all;
  let readySidecars = 0;
  for (const [at, container] of (status.initContainerStatuses ?? []).entries()) {
    all = addRestarts(all, container);
    const sidecar = isSidecar(container.name);
    if (sidecar) sidecars = addRestarts(sidecars, container);
    const { terminated, waiting } = container.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecar && container.started === true) {
      if (container.ready === true) readySidecars++;
      continue;
    }
    const word =
      terminated !== undefined
        ? wordOfEnd(terminated)
        : waiting?.reason !== undefined && waiting.reason !== '' && waiting.reason !== 'PodInitializing'
          ? waiting.reason
          : `${at}/${(spec.initContainers ?? []).length}`;
    return { status: `Init:${word}`, all, sidecars, readySidecars };
  }
  return { status: undefined, all, sidecars, readySidecars };
}

/** The word of the first container that has one; those that just run have none. */
function wordOfContainers(containers: readonly ContainerStatusObject[]): string | undefined {
  for (const { state = {} } of containers) {
    if (state.waiting?.reason !== undefined && state.waiting.reason !== '') return state.waiting.reason;
    if (state.terminated !== undefined) return wordOfEnd(state.terminated);
  }
  return undefined;
}

type Terminated = NonNullable<NonNullable<ContainerStatusObject['state']>['terminated']>;

function wordOfEnd({ reason = '', signal = 0, exitCode = 0 }: Terminated): string {
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function isReadyAndRunning({ ready, state = {} }: ContainerStatusObject): boolean {
  const waits = state.waiting?.reason !== undefined && state.waiting.reason !== '';
  return ready === true && state.running !== undefined && !waits && state.terminated === undefined;
}

function isReady({ status = {} }: PodObject): boolean {
  return (status.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');
}

function addRestarts({ count, lastMs }: Restarts, container: ContainerStatusObject): Restarts {
  const ended = parseTime(container.lastState?.terminated?.finishedAt);
  const newest = ended !== undefined && (lastMs === undefined || ended > lastMs) ? ended : lastMs;
  return { count: count + (container.restartCount ?? 0), lastMs: newest };
}

function formatRestarts({ count, lastMs }: Restarts, nowMs: number): string {
  if (count === 0 || lastMs === undefined) return String(count);
  return `${count} (${formatAge(new Date(lastMs).toISOString(), nowMs)} ago)`;
}
