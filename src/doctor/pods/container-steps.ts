import { formatPod } from '#kube/pod/pod-ref.js';
import { formatMs } from '../rules/words.js';
import { type PodCase, type PodStep } from './pod-case.js';
import { CRASHES, crashesAgain, describeEnd, type EndObject, type StatusObject } from './pod-object.js';
import { findNews, type Standing, timeOf } from './standing.js';

/** What Kubernetes says of a container that waits, and the step at which it does. */
const STEPS: Readonly<Record<string, PodStep>> = {
  ...{ ErrImagePull: 'pull', ImagePullBackOff: 'pull', InvalidImageName: 'pull', ErrImageNeverPull: 'pull' },
  ...{ ImageInspectError: 'pull', RegistryUnavailable: 'pull', SignatureValidationFailed: 'pull' },
  ...{ CreateContainerConfigError: 'create', CreateContainerError: 'create', PreCreateHookError: 'create' },
  ...{
    PreStartHookError: 'start',
    RunContainerError: 'start',
    PostStartHookError: 'start',
    StartError: 'start',
  },
  ...{ UnsupportedVolume: 'volume', CrashLoopBackOff: 'back-off' },
};
/** A container that is about to be made says no more than that. */
const BEING_MADE = ['', 'ContainerCreating', 'PodInitializing'];

const REMEDIES: Partial<Readonly<Record<PodStep, string>>> = {
  pull: 'See whether the image is named right, whether its registry is reached from this node (crictl pull IMAGE), and whether it needs a login (imagePullSecrets). It is tried again by itself.',
  create:
    'Mend what the message names: a ConfigMap or Secret that is not there or lacks a key, a user that is not allowed, a path that cannot be mounted. It is tried again by itself.',
  start:
    'Mend what the message names: a command that is not in the image, a mount that cannot be made, a hook that fails. It is tried again by itself.',
  volume: 'This node cannot mount that kind of volume: use another one, or a node that can.',
};

/** Containers that wait, where the agent itself says why. */
export function explainWaiting({ object, pod, facts, source }: PodCase): Standing | undefined {
  for (const status of listStatuses({ object })) {
    const { name = '', state, lastState, restartCount = 0 } = status;
    const hasCrashed = crashesAgain(status, object ?? {}, isInit({ object }, name));
    const { reason = '', message = '' } = hasCrashed ? { reason: CRASHES } : (state?.waiting ?? {});
    if (reason === '' || BEING_MADE.includes(reason)) continue;
    const step = STEPS[reason] ?? 'start';
    const last = hasCrashed ? state?.terminated : lastState?.terminated;
    const endedMs = timeOf(last?.finishedAt);
    const sinceMs = step === 'back-off' ? endedMs : timeOf(object?.status?.startTime);
    const image = findImage({ object }, name);
    const how = last === undefined ? '' : `: it ${describeEnd(last)}`;
    return {
      ...{ step, container: name, reason, ...(sinceMs === undefined ? {} : { sinceMs }) },
      message:
        step === 'back-off'
          ? `container ${name} of pod ${formatPod(pod)} ends again and again, and ${source} waits before it starts it once more${how}`
          : `container ${name} of pod ${formatPod(pod)} stands at ${step}${step === 'pull' && image !== '' ? ` of ${image}` : ''} (${reason})${message === '' ? '' : `: ${message}`}`,
      evidence: [
        ...(step === 'back-off' && message !== '' ? [message] : []),
        ...(last === undefined
          ? []
          : [
              `${restartCount} ${restartCount === 1 ? 'restart' : 'restarts'}; the last run ${describeEnd(last)}${endedMs === undefined ? '' : ` ${formatMs(Math.max(0, facts.atMs - endedMs))} ago`}`,
            ]),
      ],
      remedy: step === 'back-off' ? adviseRestart(name, last) : (REMEDIES[step] ?? REMEDIES.start!),
    };
  }
  return undefined;
}

/** Containers that are being made, are not ready, or run: read from their order and from what the runtime has. */
export function explainMade(podCase: PodCase): Standing | undefined {
  const { object, pod, facts } = podCase;
  const statuses = listStatuses(podCase);
  if (object === undefined) return undefined;
  const name = formatPod(pod);
  const [first] = statuses.filter((status) => !hasDone(status, podCase));
  if (first === undefined)
    return statuses.length === 0
      ? undefined
      : (statuses.map((status) => explainLiveness(podCase, status)).find((each) => each !== undefined) ?? {
          ...{ step: 'running', reason: 'Running', isWell: true, ...sinceOf(statuses) },
          message: `pod ${name} runs, and each of its containers is ready`,
          remedy: 'Nothing.',
        });
  const { name: container = '', state, started } = first;
  if (state?.terminated !== undefined) {
    const sinceMs = timeOf(state.terminated.finishedAt);
    return {
      ...{ step: 'ended', container, reason: state.terminated.reason ?? 'Error' },
      ...(sinceMs === undefined ? {} : { sinceMs }),
      message: `container ${container} of pod ${name} ${describeEnd(state.terminated)} and has not been started again`,
      remedy: adviseRestart(container, state.terminated),
    };
  }
  if (state?.running === undefined) return explainWait(podCase, container);
  const sinceMs = timeOf(state.running.startedAt);
  const since = sinceMs === undefined ? {} : { sinceMs };
  const lasts = sinceMs === undefined ? '' : ` for ${formatMs(Math.max(0, facts.atMs - sinceMs))}`;
  if (isInit(podCase, container) && started !== false)
    return {
      ...{ step: 'start', container, reason: 'PodInitializing', ...since },
      message: `init container ${container} of pod ${name} has run${lasts}: the others wait for its end`,
      remedy: `See what it does: kubectl logs ${pod.name} -n ${pod.namespace} -c ${container}.`,
    };
  const probe = started === false ? 'startup' : 'readiness';
  const hung = podCase.findings.find(
    (finding) =>
      finding.operation === 'runc exec' && finding.pod !== undefined && formatPod(finding.pod) === name,
  );
  const said = findNews(podCase.events, (reason) => reason === 'Unhealthy')?.message;
  return {
    ...{ step: 'probe', container, reason: hung?.code ?? 'ContainersNotReady', ...since },
    message: `container ${container} of pod ${name} has run${lasts} and its ${probe} probe has not succeeded${hung !== undefined ? `: ${hung.message}` : said === undefined ? '' : `: ${said}`}`,
    remedy:
      hung?.remedy ??
      `See what the probe asks (kubectl get pod ${pod.name} -n ${pod.namespace} -o yaml) and whether the program answers it: kubectl logs -c ${container}. Until it succeeds no Service sends anything there.`,
  };
}

/** How long a container that is to be restarted is given to end. */
const RESTART_MS = 60_000;

/** A container that runs and is ready, while its liveness probe fails: it is about to be restarted. */
function explainLiveness(
  { events, facts, object, pod }: PodCase,
  status: StatusObject,
): Standing | undefined {
  const failed = events.find(
    ({ reason, message = '', involvedObject }) =>
      reason === 'Unhealthy' &&
      message.startsWith('Liveness probe failed') &&
      involvedObject?.fieldPath?.includes(`{${status.name}}`),
  );
  const atMs = timeOf(failed?.lastTimestamp);
  if (failed === undefined || atMs === undefined) return undefined;
  const startedMs = timeOf(status.state?.running?.startedAt);
  // A failure of an earlier run is over.
  if (startedMs === undefined || startedMs > atMs) return undefined;
  const { periodSeconds = 10, failureThreshold = 3 } =
    object?.spec?.containers?.find(({ name }) => name === status.name)?.livenessProbe ?? {};
  // Afterwards the probe has succeeded: a failure is an event each time.
  const lastsMs = (failed.count ?? 1) >= failureThreshold ? RESTART_MS : 2_000 * periodSeconds;
  if (facts.atMs - atMs > lastsMs) return undefined;
  const { name: container = '', restartCount = 0 } = status;
  return {
    ...{ step: 'probe', container, reason: 'LivenessFails', sinceMs: startedMs },
    message: `container ${container} of pod ${formatPod(pod)} runs, and its liveness probe failed ${formatMs(Math.max(0, facts.atMs - atMs))} ago; it is restarted when that happens as often as failureThreshold says: ${failed.message}`,
    evidence: restartCount === 0 ? [] : [`${restartCount} ${restartCount === 1 ? 'restart' : 'restarts'}`],
    remedy: `See what the probe asks (kubectl get pod ${pod.name} -n ${pod.namespace} -o yaml), and what the program says: kubectl logs -c ${container}.`,
  };
}

/** A container that is not there yet though its sandbox is. */
function explainWait(podCase: PodCase, container: string): Standing {
  const { pod, sandboxes, containers, events, facts } = podCase;
  const name = formatPod(pod);
  const sandbox = sandboxes.find(({ ready }) => ready);
  const created = containers.find((each) => each.name === container && each.state === 'created');
  const finding = podCase.findings.find(
    (each) =>
      (each.code === 'OciRuntimeHangs' || each.code === 'MountHangs') &&
      [each.pod, ...(each.pods ?? [])].some((of) => of !== undefined && formatPod(of) === name),
  );
  const sinceMs = created?.createdAtMs ?? sandbox?.createdAtMs;
  const since = sinceMs === undefined ? {} : { sinceMs };
  const lasts = sinceMs === undefined ? '' : ` for ${formatMs(Math.max(0, facts.atMs - sinceMs))}`;
  if (finding !== undefined)
    return {
      ...{
        step:
          finding.code === 'MountHangs' ? 'volume' : finding.operation === 'runc start' ? 'start' : 'create',
      },
      ...{
        container,
        reason: finding.code,
        ...since,
        ...(finding.sinceMs === undefined ? {} : { sinceMs: finding.sinceMs }),
      },
      ...{ message: finding.message, evidence: finding.evidence, remedy: finding.remedy },
    };
  const { population } = facts.runtime;
  if (!population.known)
    return {
      ...{ step: 'unknown', container, reason: 'NotSeen' },
      message: `container ${container} of pod ${name} does not run, and what there is of the pod is not known: ${population.why}`,
      remedy: 'Mend the runtime first; podloop doctor says how.',
    };
  if (created !== undefined)
    return {
      ...{ step: 'start', container, reason: 'ContainerCreating', ...since },
      message: `container ${container} of pod ${name} has been created${lasts} and does not run yet`,
      remedy:
        'Starting takes milliseconds, but for a postStart hook or a disk that is slow: ask again, and see podloop doctor for the node.',
    };
  const image = findImage(podCase, container);
  const pulling =
    findNews(events, (reason) => reason === 'Pulling' || reason === 'Pulled')?.reason === 'Pulling';
  return {
    ...{ step: 'pull', container, reason: 'ContainerCreating', ...since },
    message: `pod ${name} has its sandbox${lasts} and not its container ${container}: ${pulling ? 'its image is being pulled' : 'most likely its image is being pulled'}${image === '' ? '' : ` (${image})`}`,
    remedy:
      'See whether the pull gets on: crictl pull IMAGE on this node asks the same registry. Pulls go one after another unless serializeImagePulls is false.',
  };
}

/** Whether a container has got as far as it should, so that the next one counts. */
function hasDone({ name = '', ready = false, started, state }: StatusObject, podCase: PodCase): boolean {
  if (!isInit(podCase, name)) return ready || state?.terminated?.exitCode === 0;
  return isSidecar(podCase, name) ? started === true : state?.terminated?.exitCode === 0;
}

function isInit({ object }: Pick<PodCase, 'object'>, name: string): boolean {
  return (object?.status?.initContainerStatuses ?? []).some((status) => status.name === name);
}

function isSidecar({ object }: Pick<PodCase, 'object'>, name: string): boolean {
  return (object?.spec?.initContainers ?? []).some(
    (each) => each.name === name && each.restartPolicy === 'Always',
  );
}

function listStatuses({ object }: Pick<PodCase, 'object'>): StatusObject[] {
  const { initContainerStatuses = [], containerStatuses = [] } = object?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses];
}

function findImage({ object }: Pick<PodCase, 'object'>, name: string): string {
  const { initContainers = [], containers = [] } = object?.spec ?? {};
  return [...initContainers, ...containers].find((each) => each.name === name)?.image ?? '';
}

function sinceOf(statuses: readonly StatusObject[]): { sinceMs?: number } {
  const times = statuses.flatMap(({ state }) => timeOf(state?.running?.startedAt) ?? []);
  return times.length === 0 ? {} : { sinceMs: Math.max(...times) };
}

/** What to do about a container that ended like this. */
export function adviseRestart(container: string, end: EndObject | undefined): string {
  const logs = `See its last words: kubectl logs --previous -c ${container}.`;
  if (end?.reason === 'OOMKilled')
    return `It had more memory than its limit: raise resources.limits.memory, or see what it holds. ${logs}`;
  if (end?.reason === 'StartError')
    return 'It has not started, so it has no log: mend what the message names, such as a command that is not in the image, or a mount.';
  switch (end?.exitCode) {
    case 0:
      return `Its program ends by itself and with success: a pod whose restartPolicy is Always needs one that stays. ${logs}`;
    case 126:
    case 127:
      return `Its command cannot be run or is not in the image: see command and args. ${logs}`;
    case 137:
      return `It was killed: by a liveness probe that failed, by whoever sent SIGKILL, or for want of memory (dmesg). ${logs}`;
    default:
      return logs;
  }
}
