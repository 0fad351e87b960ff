import { type Finding } from '../finding.js';
import { type KubeletHealth, type KubeletMetrics } from '../facts/kubelet-facts.js';
import { type NamedProcess } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { toKubeletHung } from './daemon-rules.js';
import { LIMITS } from './limits.js';
import { findBusy } from './pressure-rules.js';
import { type Rule } from './rule.js';
import { formatMs } from './words.js';

/** Calls that only read: others take as long as pods take to start and end. */
const READING = [
  'version',
  'status',
  'list_podsandbox',
  'list_containers',
  'podsandbox_status',
  'container_status',
];
const CAUSE = 'What stands above and below in this report is the likely cause.';

/** What a kubelet says of itself. */
export const kubeletRules: Rule = ({ kubelet, machine, atMs }) => {
  const [health, metrics] = [valueOf(kubelet.health), valueOf(kubelet.metrics)];
  return [
    ...(health === undefined ? [] : judgeHealth(health, valueOf(machine.daemons)?.kubelet)),
    ...(metrics === undefined ? [] : judgeMetrics(metrics, findBusy(machine), atMs)),
  ];
};

function judgeHealth(
  { url, healthy, words, silentForMs }: KubeletHealth,
  daemon: NamedProcess | undefined,
): Finding[] {
  if (healthy) return [];
  if (silentForMs !== undefined) return [toKubeletHung(url, silentForMs, daemon)];
  return [
    {
      ...{ code: 'KubeletUnhealthy', severity: 'critical', remedy: CAUSE },
      message: `the health check at ${url} fails`,
      evidence: words.split('\n').slice(0, 20),
    },
  ];
}

/** After how long without a relist it is unhealthy, and from when on to report that. */
function patienceOf({ thresholdMs, isEvented }: KubeletMetrics): { thresholdMs: number; lateMs: number } {
  const usualMs = isEvented ? LIMITS.eventedThresholdMs : LIMITS.plegThresholdMs;
  const ms = thresholdMs ?? usualMs;
  // A kubelet with a longer threshold than usual relists every five minutes.
  return {
    thresholdMs: ms,
    lateMs: ms > LIMITS.plegThresholdMs ? LIMITS.eventedPeriodMs + LIMITS.plegLateMs : LIMITS.plegLateMs,
  };
}

function judgeMetrics(metrics: KubeletMetrics, busy: string | undefined, atMs: number): Finding[] {
  const { url, lastSeenAgoMs = 0, relistP99Ms = 0, relists, isRecent, eventsDiscarded } = metrics;
  const findings: Finding[] = [];
  const { thresholdMs, lateMs } = patienceOf(metrics);
  if (lastSeenAgoMs >= lateMs) {
    findings.push({
      ...{ code: 'KubeletRelistStuck', severity: lastSeenAgoMs >= thresholdMs ? 'critical' : 'warning' },
      sinceMs: atMs - lastSeenAgoMs,
      message: `the kubelet has not relisted the pods for ${formatMs(lastSeenAgoMs)}: after ${formatMs(thresholdMs)} it says "PLEG is not healthy" and the node goes NotReady`,
      evidence: [`kubelet_pleg_last_seen_seconds at ${url}`],
      remedy: CAUSE,
    });
  }
  if (relistP99Ms >= LIMITS.relistSlowMs) {
    findings.push({
      ...{
        code: 'KubeletRelistSlow',
        // A relist that takes seconds while all wait for the CPU is no illness, one that takes ten of them is.
        severity:
          relistP99Ms >= LIMITS.relistVerySlowMs ? 'critical' : busy === undefined ? 'warning' : 'info',
      },
      message: `one in a hundred of the kubelet’s relists takes ${formatMs(relistP99Ms)} or more`,
      evidence: [
        ...(busy === undefined ? [] : [`the machine is busy: ${busy}`]),
        `kubelet_pleg_relist_duration_seconds at ${url}: p99 of ${relists} relists ${isRecent ? 'while this ran' : 'since it started'}`,
      ],
      remedy: CAUSE,
    });
  }
  const { eventsDiscardedLately } = metrics;
  if (eventsDiscarded > 0) {
    findings.push({
      // What is over explains what people saw, and is nothing to be mended.
      ...{ code: 'KubeletEventsDiscarded', severity: eventsDiscardedLately > 0 ? 'warning' : 'info' },
      message: `the kubelet has thrown away ${eventsDiscarded} events since it started: their pods waited for a periodic sync, a minute and more`,
      evidence: [`kubelet_pleg_discard_events at ${url}; ${eventsDiscardedLately} of them while this ran`],
      remedy: 'Too much changed at once for its channel of 1,000; podloop folds instead and loses nothing.',
    });
  }
  const slow = metrics.operations.filter(
    ({ operation, p99Ms, count }) => READING.includes(operation) && count > 0 && p99Ms >= LIMITS.callSlowMs,
  );
  const worst = slow.find(({ isRecent: lately }) => lately) ?? slow[0];
  if (worst !== undefined) {
    const since = worst.isRecent ? 'while this ran' : 'since it started';
    // As relists: calls that take seconds while all wait are no illness.
    const isIll = worst.isRecent && (busy === undefined || worst.p99Ms >= LIMITS.relistVerySlowMs);
    findings.push({
      ...{ code: 'KubeletCallsSlow', severity: isIll ? 'warning' : 'info', call: worst.operation },
      message: `one in a hundred of the kubelet’s calls ${worst.operation} took ${formatMs(worst.p99Ms)} or more ${since}`,
      evidence: [
        ...(busy === undefined ? [] : [`the machine is busy: ${busy}`]),
        ...slow.map(
          ({ operation, p99Ms, count, errors, isRecent: lately }) =>
            `${operation}: p99 ${formatMs(p99Ms)} of ${count} calls ${lately ? 'while this ran' : 'since it started'}, ${errors} failed`,
        ),
      ],
      remedy: CAUSE,
    });
  }
  return findings;
}
