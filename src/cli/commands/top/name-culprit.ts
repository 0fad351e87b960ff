import { type PlegReport, type ReportedCall, type ReportedStuckPod } from '#kube/node/pleg-report.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { formatMs } from './format-ms.js';

/** How the node is, in one sentence that names who is to blame. */
export interface Verdict {
  readonly severity: 'ok' | 'warning' | 'unhealthy';
  readonly text: string;
}

/** Younger troubles are no news: most are over before anybody has read the line. */
const LIST_HANGS_AFTER_MS = 3_000;
const CALL_HANGS_AFTER_MS = 10_000;
/** What a relist is made of, in one piece or in several. */
const POD_LISTS: ReadonlySet<string> = new Set([
  ...['list_podsandbox', 'list_containers', 'stream_podsandboxes', 'stream_containers'],
]);
/** So many stuck pods are named. */
const NAMED_PODS = 3;

/** Says how the node is and which call, or which pod, makes it so. Pure. */
export function nameCulprit(report: PlegReport): Verdict {
  const { health, relists, stuckPods, callsInFlight } = report;
  if (!health.healthy) {
    const why = whyUnhealthy(report);
    const message = `PLEG is not healthy: ${health.message ?? ''}`;
    // Nobody has looked yet: a moment after the start that says nothing.
    const isYoung =
      health.reason === 'neverSucceeded' && health.error === undefined && report.forMs < LIST_HANGS_AFTER_MS;
    if (isYoung) return { severity: 'ok', text: 'the first list of the runtime is under way' };
    return { severity: 'unhealthy', text: why === '' ? message : `${message} (${why})` };
  }
  if ((relists.listInFlightMs ?? 0) >= LIST_HANGS_AFTER_MS) {
    return { severity: 'warning', text: `the runtime does not answer: ${describeList(report)}` };
  }
  const failed = relists.history.at(-1)?.error;
  if (failed !== undefined) {
    const since = formatMs(health.lastSeenAgoMs);
    return {
      severity: 'warning',
      text: `the list of pods fails: ${failed}; the last that succeeded began ${since} ago`,
    };
  }
  if (report.stuckPodCount > 0) return { severity: 'warning', text: describeStuck(report, stuckPods) };
  const slow = callsInFlight.find(isOverdue);
  if (slow !== undefined)
    return { severity: 'warning', text: `${describeCall(slow)}; other pods are not delayed` };
  const { lastSeenAgoMs, thresholdMs } = health;
  return {
    severity: 'ok',
    text: `ok, last relist ${formatMs(lastSeenAgoMs)} ago (threshold ${formatMs(thresholdMs)})`,
  };
}

/** Longer than it takes by its own nature. What has no limit, as a pull that its caller ends, takes as long as it takes. */
function isOverdue({ ageMs, deadlineMs, ownMs = 0 }: ReportedCall): boolean {
  return deadlineMs !== undefined && ageMs >= Math.min(ownMs, deadlineMs) + CALL_HANGS_AFTER_MS;
}

function whyUnhealthy(report: PlegReport): string {
  const { health, stuckPods } = report;
  const error = health.error === undefined ? '' : `: ${health.error}`;
  switch (health.reason) {
    case 'listHanging':
      return describeList(report);
    case 'listFailing':
      return `the list of pods fails${error}`;
    case 'notRelisting':
      return 'nobody relists';
    case 'inspectionsFailing':
      return `no pod’s status is answered; ${describeStuck(report, stuckPods)}`;
    case 'neverSucceeded':
      return report.relists.listInFlightMs === undefined
        ? `the list of pods fails${error}`
        : describeList(report);
    default:
      return health.error ?? '';
  }
}

/** Which of the list calls it is that is not answered. */
function describeList({ callsInFlight, relists }: PlegReport): string {
  const call = callsInFlight.find(({ operation }) => POD_LISTS.has(operation));
  if (call !== undefined) return describeCall(call);
  return `the list of pods has had no answer for ${formatMs(relists.listInFlightMs)}`;
}

function describeCall({ operation, pod, ageMs }: ReportedCall): string {
  const of = pod === undefined ? '' : ` of ${formatPod(pod)}`;
  return `${operation}${of} has had no answer for ${formatMs(ageMs)}`;
}

function describeStuck(report: PlegReport, stuckPods: readonly ReportedStuckPod[]): string {
  const count = report.stuckPodCount;
  const named = stuckPods.slice(0, NAMED_PODS).map((stuck) => describePod(stuck, report.callsInFlight));
  const more = count > named.length ? ` and ${count - named.length} more` : '';
  const others = report.health.healthy ? '; other pods are not delayed' : '';
  return `stuck: ${named.join(', ')}${more}${others}`;
}

function describePod({ pod, state, forMs, error }: ReportedStuckPod, calls: readonly ReportedCall[]): string {
  const call = calls.find((each) => each.pod?.uid === pod.uid && /_status$/.test(each.operation));
  const name = formatPod(pod);
  if (call !== undefined) return `${name} for ${formatMs(forMs)} in ${call.operation}`;
  return `${name} ${state} for ${formatMs(forMs)}${error === undefined || state === 'hung' ? '' : ` (${error})`}`;
}
