import { formatPod } from '#kube/pod/pod-ref.js';
import { type FindingCode } from '../finding-codes.js';
import { type Finding } from '../finding.js';
import { valueOf } from '../looked.js';
import { count, formatMs } from '../rules/words.js';
import { explainMade, explainWaiting } from './container-steps.js';
import { type PodCase, type PodDiagnosis } from './pod-case.js';
import { describeEnd, type EventObject, type VolumeObject } from './pod-object.js';
import { explainByRuntime } from './runtime-steps.js';
import { findNews, type Standing, timeOf } from './standing.js';

/** Findings about the node as a whole with which no pod starts, or nobody looks after any. */
const OF_NODE: readonly FindingCode[] = [
  ...(['RuntimeSocketMissing', 'RuntimeNotRunning', 'RuntimeNotCri', 'RuntimeForbidden'] as const),
  ...(['RuntimeFlapping', 'RuntimeHung', 'RuntimeStopped', 'RuntimeSlow', 'RuntimeNotReady'] as const),
  ...(['NetworkNotReady', 'ListHangs', 'CallHangs', 'OciRuntimeSlow', 'PodsHung'] as const),
  ...(['DiskHangs', 'DiskFull', 'DiskReadOnly', 'InodesUsedUp', 'PidsUsedUp', 'MemoryLow'] as const),
  ...(['FilesUsedUp', 'TasksUsedUp', 'MemoryUsedUp', 'CgroupDriverConflict', 'AgentOutOfStep'] as const),
  ...(['KubeletStopped', 'KubeletHung', 'KubeletNotRunning', 'KubeletUnhealthy', 'AgentUnhealthy'] as const),
];
const VOLUME_EVENTS = /^(FailedMount|FailedAttachVolume|FailedMapVolume|AlreadyMountedVolume|FailedToMake)/;
const NETWORK_WORDS = /\bcni\b|network|\bipam\b|ip address/i;
const IMAGE_WORDS = /pause|sandbox image|pull/i;
/** Reasons for which a kubelet or its node ends a pod that did nothing wrong by itself; `Terminated`: the machine was shut down. */
const ENDED_BY_NODE = ['Evicted', 'Preempting', 'DeadlineExceeded', 'Terminated', 'NodeShutdown'];
/** Of the newest events, as evidence. */
const MAX_EVENTS = 3;

/** Says at which step a pod stands, since when, why, and what to do. Pure. */
export function explainPod(podCase: PodCase): PodDiagnosis {
  const { pod, source, facts, findings } = podCase;
  const standing =
    explainEnd(podCase) ??
    explainDeletion(podCase) ??
    explainGates(podCase) ??
    explainWaiting(podCase) ??
    explainSandbox(podCase) ??
    explainMade(podCase) ??
    explainByRuntime(podCase);
  const { evidence = [], isWell = false, ...rest } = standing;
  const about = findings.filter((finding) => isAbout(finding, podCase));
  const ofNode = findings.filter(
    (finding) => OF_NODE.includes(finding.code) && finding.severity !== 'info' && !about.includes(finding),
  );
  return {
    ...{ pod, source, ...rest, isWell, remedy: toWordsOf(podCase, rest.remedy) },
    evidence: [
      ...evidence,
      ...(isWell
        ? []
        : podCase.events
            .filter(isWarning)
            .slice(0, MAX_EVENTS)
            .map((event) => describeEvent(event, facts.atMs))),
    ],
    findings: isWell ? about : [...about, ...ofNode],
  };
}

/** Words of kubectl that podloop's agent answers, too, under podloop's name. */
const SHARED_WORDS = /\bkubectl (?=(?:logs|describe|get|delete|exec)\b)/g;

/** The remedy with the name of the pod, in the words of whoever runs the pod. */
function toWordsOf({ pod: { name, namespace }, source }: PodCase, remedy: string): string {
  const named = remedy
    .replaceAll(/\b(kubectl logs(?: --previous)?(?: -c [^\s.,]+)?)(?=[.,]|$)/g, `$1 ${name} -n ${namespace}`)
    .replaceAll(/\bkubectl (describe) pod(?=[),.])/g, `kubectl $1 pod ${name} -n ${namespace}`);
  if (source !== 'podloop’s agent') return named;
  return named
    .replaceAll(SHARED_WORDS, 'podloop ')
    .replaceAll(/journalctl -u kubelet(?: -g MountVolume)?/g, `podloop events --pod ${namespace}/${name}`)
    .replaceAll(/crictl pull IMAGE(?: on this node)?/g, 'podloop pull IMAGE');
}

function isAbout(finding: Finding, { pod }: PodCase): boolean {
  const names = [finding, ...(finding.follows ?? [])].flatMap((each) => [
    ...(each.pods ?? []),
    ...(each.pod ? [each.pod] : []),
  ]);
  // The finding that lists all pods that wait says less than what is said here.
  return finding.code !== 'PodsWait' && names.some((name) => formatPod(name) === formatPod(pod));
}

/** The finding about this pod of one of these codes, as it is or below its cause. */
function findAbout(podCase: PodCase, codes: readonly FindingCode[]): Finding | undefined {
  return podCase.findings
    .flatMap((finding) => [finding, ...(finding.follows ?? [])])
    .find((finding) => codes.includes(finding.code) && isAbout(finding, podCase));
}

function isWarning({ type }: EventObject): boolean {
  return type === 'Warning';
}

function describeEvent(
  { reason = '', message = '', count: times = 1, ...when }: EventObject,
  nowMs: number,
): string {
  const atMs = timeOf(when.lastTimestamp ?? when.eventTime ?? when.firstTimestamp);
  const ago = atMs === undefined ? '' : `, ${formatMs(Math.max(0, nowMs - atMs))} ago`;
  return `event ${reason} (${count(times, 'time')}${ago}): ${message}`;
}

/** Refused, evicted, or at its end. */
function explainEnd({ object, pod }: PodCase): Standing | undefined {
  const { phase = '', reason = '', message = '', startTime, ...statuses } = object?.status ?? {};
  if (phase !== 'Failed' && phase !== 'Succeeded') return undefined;
  const all = [...(statuses.initContainerStatuses ?? []), ...(statuses.containerStatuses ?? [])];
  const ends = all.flatMap(({ name = '', state }) =>
    state?.terminated === undefined ? [] : [{ name, end: state.terminated }],
  );
  const bad = ends.find(({ end }) => end.exitCode !== 0);
  const times = ends.flatMap(({ end }) => timeOf(end.finishedAt) ?? []);
  const sinceMs = times.length === 0 ? timeOf(startTime) : Math.max(...times);
  const since = sinceMs === undefined ? {} : { sinceMs };
  const name = formatPod(pod);
  if (phase === 'Succeeded')
    return {
      ...{ step: 'ended', reason: phase, isWell: true, ...since },
      message: `pod ${name} has ended, as it should: each container with exit code 0`,
      remedy: 'Nothing: a pod that has succeeded is not started again.',
    };
  if (ENDED_BY_NODE.includes(reason))
    return {
      ...{ step: 'ended', reason, ...since },
      message: `pod ${name} was ended: ${message === '' ? reason : message}`,
      remedy:
        'It does not come back by itself: see to what it was ended for, then create it again, or let its controller do so.',
    };
  if (ends.length === 0)
    return {
      ...{ step: 'admission', reason: reason === '' ? phase : reason, ...since },
      message: `pod ${name} was refused: ${message === '' ? reason || 'without a reason' : message}`,
      remedy:
        'Mend what the reason names: the room that is left (kubectl describe node), the node’s labels, taints and ports. A refused pod is not tried again: delete it and create it again, which interrupts nothing.',
    };
  return {
    ...{
      step: 'ended',
      reason: bad?.end.reason ?? phase,
      ...(bad === undefined ? {} : { container: bad.name }),
      ...since,
    },
    message: `pod ${name} has failed${bad === undefined ? '' : `: container ${bad.name} ${describeEnd(bad.end)}`}`,
    evidence: message === '' ? [] : [message],
    remedy: 'See its last words: kubectl logs. It is not started again, as its restartPolicy says.',
  };
}

function explainGates({ object, pod }: PodCase): Standing | undefined {
  const { conditions = [] } = object?.status ?? {};
  const isGated = conditions.some(
    (each) => each.type === 'PodScheduled' && each.reason === 'SchedulingGated',
  );
  if (!isGated) return undefined;
  const gates = (object?.spec?.schedulingGates ?? []).map(({ name = '' }) => name);
  return {
    ...{ step: 'admission', reason: 'SchedulingGated' },
    message: `pod ${formatPod(pod)} waits for its scheduling gates to be taken off: ${gates.join(', ')}`,
    remedy:
      'Take spec.schedulingGates off, in its manifest or with kubectl edit, once what they stand for is done; whoever put them there may do so by itself.',
  };
}

function explainDeletion(podCase: PodCase): Standing | undefined {
  const { metadata = {} } = podCase.object ?? {};
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  const endMs = timeOf(deletionTimestamp);
  if (endMs === undefined) return undefined;
  const { atMs } = podCase.facts;
  const name = formatPod(podCase.pod);
  const cause = findAbout(podCase, [
    'ShimStopped',
    'ShimHangs',
    'OciRuntimeHangs',
    'MountHangs',
    'SandboxHangs',
    'TasksBlocked',
  ]);
  const sinceMs = endMs - deletionGracePeriodSeconds * 1_000;
  const isLate = atMs > endMs;
  return {
    ...{ step: 'deletion', reason: cause?.code ?? 'Terminating', sinceMs },
    message:
      cause !== undefined
        ? `pod ${name} is being deleted, and ${cause.message}`
        : isLate
          ? `pod ${name} should have ended ${formatMs(atMs - endMs)} ago, and is still there`
          : `pod ${name} is being deleted and has ${formatMs(endMs - atMs)} left to end by itself`,
    remedy:
      cause?.remedy ??
      (isLate
        ? 'See whether its containers still run (crictl ps), which volumes are still mounted (grep its uid /proc/mounts), and whether a finalizer holds the object. Do not delete it with --force before its processes have ended: they would go on unseen.'
        : 'Wait: its preStop hook or its processes may take that long.'),
  };
}

/** No sandbox that is ready: its volumes, its network, or the sandbox itself. */
function explainSandbox(podCase: PodCase): Standing | undefined {
  const { pod, object, sandboxes, facts, source } = podCase;
  if (object === undefined || !facts.runtime.population.known || sandboxes.some(({ ready }) => ready))
    return undefined;
  const name = formatPod(pod);
  const sinceMs = timeOf(object.status?.startTime ?? object.metadata?.creationTimestamp);
  const since = sinceMs === undefined ? {} : { sinceMs };
  const of = (finding: Finding, step: Standing['step']): Standing => ({
    ...{
      step,
      reason: finding.code,
      message: `pod ${name} has no sandbox yet: ${finding.message}`,
      ...since,
    },
    evidence: finding.evidence,
    remedy: finding.remedy,
  });
  const mount = findAbout(podCase, ['MountHangs']);
  if (mount !== undefined) return of(mount, 'volume');
  const hangs = findAbout(podCase, ['SandboxHangs']);
  if (hangs !== undefined) return of(hangs, 'network');
  const call = findAbout(podCase, ['OciRuntimeHangs', 'ShimStopped', 'ShimHangs']);
  if (call !== undefined) return of(call, 'sandbox');
  const plugin = valueOf(facts.machine.plugins)?.running.find(
    (each) => each.pod !== undefined && formatPod(each.pod) === name,
  );
  if (plugin !== undefined)
    return {
      ...{ step: 'network', reason: 'ContainerCreating', ...since },
      message: `pod ${name} gets its network: ${plugin.command} (pid ${plugin.pid}) has run for ${formatMs(plugin.forMs)}`,
      remedy: 'Wait a few seconds, then ask again.',
    };
  const fromEvents = explainByEvents(podCase, since);
  if (fromEvents !== undefined) return fromEvents;
  const network = podCase.findings.find(({ code }) => code === 'NetworkNotReady');
  if (network !== undefined) return of(network, 'network');
  const fails = findAbout(podCase, ['SandboxesFail']);
  if (fails !== undefined) return of(fails, 'sandbox');
  const volumes = (object.spec?.volumes ?? []).map(describeVolume);
  const metrics = valueOf(facts.kubelet.metrics);
  if (volumes.length > 0 && metrics?.sandboxErrors === 0)
    return {
      ...{ step: 'volume', reason: 'ContainerCreating', ...since },
      message: `pod ${name} waits for its volumes: ${source} makes the sandbox after them, and has not begun`,
      evidence: [
        `volumes: ${volumes.join(', ')}`,
        'no sandbox of the pod is there, and none has failed since the kubelet started',
      ],
      remedy:
        'See which of them is not mounted: kubectl describe pod, journalctl -u kubelet -g MountVolume. A Secret or ConfigMap that is not there, and a claim that is not bound, keep a pod here for ever; to create them interrupts nothing.',
    };
  return {
    ...{
      step: metrics !== undefined && metrics.sandboxErrors > 0 ? 'sandbox' : 'admission',
      reason: object.status?.phase ?? 'Pending',
      ...since,
    },
    message: `${source} has taken pod ${name} and the runtime has no sandbox for it yet`,
    evidence:
      metrics === undefined
        ? []
        : [`${metrics.sandboxErrors} calls of run_podsandbox have failed since the kubelet started`],
    remedy: `See its log about this pod: ${source === 'the kubelet' ? `journalctl -u kubelet -g ${pod.name}` : `podloop events --pod ${name}`}.`,
  };
}

function explainByEvents(
  { pod, events }: PodCase,
  since: { readonly sinceMs?: number },
): Standing | undefined {
  const news = findNews(
    events,
    (reason) => VOLUME_EVENTS.test(reason) || ['FailedCreatePodSandBox', 'NetworkNotReady'].includes(reason),
  );
  if (news === undefined) return undefined;
  const { reason = '', message = '' } = news;
  const isVolume = VOLUME_EVENTS.test(reason);
  const isNetwork = !isVolume && (reason === 'NetworkNotReady' || NETWORK_WORDS.test(message));
  const isImage = !isVolume && !isNetwork && IMAGE_WORDS.test(message);
  return {
    ...{ step: isVolume ? 'volume' : isNetwork ? 'network' : 'sandbox', reason, ...since },
    message: `pod ${formatPod(pod)} has no sandbox: ${message}`,
    remedy: isVolume
      ? 'Mend the volume that it names: an object that is not there, a folder of the wrong kind, a server that refuses. It is tried again by itself, and no other pod is interrupted.'
      : isNetwork
        ? 'Mend the network that it names: addresses (ls /var/lib/cni/networks/*), the plugins in /opt/cni/bin, the configuration in /etc/cni/net.d. It is tried again by itself, and no pod that runs is interrupted.'
        : isImage
          ? 'Bring the pause image back, which interrupts nothing: crictl images, and sandbox_image in the runtime’s configuration.'
          : 'The message is the runtime’s own; its log says more (journalctl -u containerd, or crio). It is tried again by itself.',
  };
}

function describeVolume({ name = '', ...kinds }: VolumeObject): string {
  const [kind = 'emptyDir'] = Object.keys(kinds);
  return `${name} (${kind})`;
}
