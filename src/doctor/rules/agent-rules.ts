import { type PlegReport, type ReportedCall } from '#kube/node/pleg-report.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type Finding } from '../finding.js';
import { valueOf } from '../looked.js';
import { percentileOf } from '#base/text/percentile.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { count, formatMs } from './words.js';

const MAX_SINGLE = 3;

/** What podloop's own agent says. A pod that this examination itself found hung is not reported twice. */
export const agentRules: Rule = ({ agent, runtime, atMs }) => {
  const report = valueOf(agent);
  if (report === undefined) return [];
  const hung = new Set((valueOf(runtime.inspections)?.hung ?? []).map(({ pod }) => pod?.uid));
  return [
    ...judgeHealth(report),
    ...judgeStuckPods(report, hung, atMs),
    ...judgeCalls(report, hung, atMs),
    ...judgeRelists(report),
    ...judgeEvents(report),
    ...judgeCluster(report),
    ...judgeLoop(report),
  ];
};

function judgeHealth({ health, relists }: PlegReport): Finding[] {
  if (health.healthy) return [];
  const { message = '', reason = '', error = '' } = health;
  const { count: done, listInFlightMs } = relists;
  const now =
    listInFlightMs === undefined
      ? ''
      : `; the one under way has waited for its lists for ${formatMs(listInFlightMs)}`;
  return [
    {
      ...{ code: 'AgentUnhealthy', severity: 'critical' },
      message: `podloop’s agent is not healthy${message === '' ? '' : `: ${message}`}`,
      evidence: [`${count(done, 'relist')} succeeded${now}`, reason, error].filter((line) => line !== ''),
      remedy:
        'What stands above and below in this report is the likely cause; podloop top pleg shows it as it goes.',
    },
  ];
}

/** Calls that only read; what changes something may take its time. */
const READING = /Status$|^List|^Version$/;
/** How a failed inspection names its call: `container_status of container …`. */
const FAILED_CALL = /\b(container_status|podsandbox_status)\b/;
const CALLS = new Map([
  ['container_status', 'ContainerStatus'],
  ['podsandbox_status', 'PodSandboxStatus'],
]);

function judgeStuckPods(report: PlegReport, known: ReadonlySet<unknown>, atMs: number): Finding[] {
  const { stuckPods, stuckPodCount, callsInFlight } = report;
  const others = stuckPods.filter(({ pod }) => !known.has(pod.uid));
  return others.slice(0, MAX_SINGLE).map(({ pod, state, forMs, failures, error = '' }) => {
    const inFlight = callsInFlight.filter((each) => each.pod?.uid === pod.uid && READING.test(each.method));
    const call = inFlight[0]?.method ?? CALLS.get(FAILED_CALL.exec(error)?.[0] ?? '');
    const how = state === 'hung' ? 'hangs' : 'fails';
    return {
      ...{ code: 'AgentPodStuck', severity: 'warning', pod, ...(call === undefined ? {} : { call }) },
      sinceMs: atMs - forMs,
      message: `podloop’s agent has not been able to inspect pod ${formatPod(pod)} for ${formatMs(forMs)}: ${call ?? 'it'} ${how}`,
      evidence: [
        `${count(failures, 'failed inspection')}; ${count(stuckPodCount, 'pod')} stuck in all`,
        ...inFlight.slice(0, MAX_SINGLE).map(describeInFlight),
        ...(error === '' ? [] : [error]),
      ],
      ids: inFlight.slice(0, MAX_SINGLE).flatMap(({ containerId = '' }) => toId(containerId)),
      remedy: 'All other pods go on. See the pod’s shim and volumes, and the runtime’s log about its id.',
    };
  });
}

function describeInFlight({ method, ageMs }: ReportedCall): string {
  return `${method}: not answered for ${formatMs(ageMs)}`;
}

function toId(containerId: string): string[] {
  return containerId === '' ? [] : [`container ${containerId}`];
}

function judgeCalls(
  { callsInFlight, stuckPods }: PlegReport,
  known: ReadonlySet<unknown>,
  atMs: number,
): Finding[] {
  const named = new Set([...known, ...stuckPods.slice(0, MAX_SINGLE).map(({ pod }) => pod.uid)]);
  const oldest = callsInFlight.find(
    ({ method, ageMs, pod }) =>
      READING.test(method) && ageMs >= LIMITS.callInFlightMs && !(pod !== undefined && named.has(pod.uid)),
  );
  if (oldest === undefined) return [];
  const { method, ageMs, pod, containerId = '' } = oldest;
  const of = pod === undefined ? '' : ` of pod ${formatPod(pod)}`;
  return [
    {
      ...{ code: 'AgentCallHangs', severity: 'warning', call: method, ...(pod && { pod }) },
      message: `${method}${of} of podloop’s agent has not been answered for ${formatMs(ageMs)}`,
      sinceMs: atMs - ageMs,
      evidence: [`${count(callsInFlight.length, 'call')} in flight`],
      ids: toId(containerId),
      remedy: 'See what the runtime waits for; podloop top pleg shows every call in flight.',
    },
  ];
}

function judgeRelists({ relists }: PlegReport): Finding[] {
  const times = relists.history.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  const median = percentileOf(times, 0.5);
  if (median < LIMITS.relistSlowMs) return [];
  const of = (pick: (relist: PlegReport['relists']['history'][number]) => number): string =>
    formatMs(
      percentileOf(
        relists.history.map(pick).sort((a, b) => a - b),
        0.5,
      ),
    );
  return [
    {
      ...{ code: 'AgentRelistSlow', severity: 'warning' },
      message: `relists of podloop’s agent take ${formatMs(median)} (median of ${times.length})`,
      evidence: [
        `list ${of(({ listMs }) => listMs)}, compare ${of(({ diffMs }) => diffMs)}, inspect ${of(({ inspectMs }) => inspectMs)}`,
      ],
      remedy:
        'Where the list takes the time it is the runtime; where the inspections do, see the slowest pods in podloop top pleg.',
    },
  ];
}

function judgeEvents({ stream, runtime }: PlegReport): Finding[] {
  const { state, missed, announced } = stream;
  if (state === 'off' || state === 'unsupported' || missed === 0) return [];
  return [
    {
      ...{ code: 'AgentEventsMissed', severity: 'info', call: 'GetContainerEvents' },
      message: `${count(missed, 'change')} that relists of podloop’s agent found came without an event of ${runtime.name} ${runtime.version}`,
      evidence: [`${announced} were announced, ${missed} were not`],
      remedy:
        'podloop relists by itself and loses nothing. Beside a kubelet with EventedPLEG on containerd 1.7 each of the two gets a part.',
    },
  ];
}

/** Without these no pod comes to the node, and it counts as lost. */
const NEEDED_OF_CLUSTER = ['certificate', 'pods', 'node'];

function judgeCluster({ cluster }: PlegReport): Finding[] {
  if (cluster === undefined || cluster.problems.length === 0) return [];
  const { server, problems } = cluster;
  const isLost = problems.some(({ what }) => NEEDED_OF_CLUSTER.includes(what));
  return [
    {
      ...{ code: 'AgentOutOfStep', severity: isLost ? 'critical' : 'warning' },
      message: `podloop’s agent does not get from the API server ${server} what a node needs`,
      evidence: problems.map(({ what, error }) => `${what}: ${error}`),
      remedy:
        'Pods that are here go on meanwhile. See whether the API server is there, and read the kubeconfig: its server, its certificate authority, and that its user is system:node:NAME of this node.',
    },
  ];
}

function judgeLoop({ eventLoop }: PlegReport): Finding[] {
  if (eventLoop.p99Ms < LIMITS.eventLoopLateMs) return [];
  return [
    {
      ...{ code: 'AgentBusy', severity: 'warning' },
      message: `podloop’s agent is late with everything: its event loop is held up for ${formatMs(eventLoop.p99Ms)} (p99)`,
      evidence: [`mean ${formatMs(eventLoop.meanMs)}, at most ${formatMs(eventLoop.maxMs)}`],
      remedy: 'The CPU is short (top), or the agent has far more pods than it can serve: please report that.',
    },
  ];
}
