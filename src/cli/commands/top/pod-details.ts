import { type PlegReport, type ReportedCall } from '#kube/node/pleg-report.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type PageLine } from '../../shared/screen/text-page.js';
import { formatMs } from './format-ms.js';
import { selectPods } from './sort-pods.js';

/** All that a report has of one pod: its inspections, why it is stuck, and its calls in flight. Pure. */
export function podDetails(report: PlegReport, uid: string): PageLine[] {
  const everything = { order: 'name', reversed: false, filter: '' } as const;
  const row = selectPods(report, everything).find(({ pod }) => pod.uid === uid);
  if (row === undefined) return [{ text: 'The report has nothing of this pod any more.' }];
  const { pod, inFlightMs, lastMs, longestMs, count, failed, stuck } = row;
  const calls = report.callsInFlight.filter((each) => each.pod?.uid === uid);
  const isPart = report.callsInFlight.length < report.callsInFlightCount;
  return [
    { text: `Pod          ${formatPod(pod)}` },
    { text: `Uid          ${pod.uid}` },
    ...stuckLines(stuck),
    { text: '' },
    { text: 'Inspections', style: 'title' },
    { text: `  now        ${inFlightMs === undefined ? 'none is running' : formatMs(inFlightMs)}` },
    { text: `  last       ${lastMs === undefined ? 'none has ended yet' : formatMs(lastMs)}` },
    { text: `  longest    ${count === 0 ? '-' : formatMs(longestMs)}` },
    { text: `  count      ${count}, ${failed} failed` },
    { text: '' },
    { text: 'Calls in flight', style: 'title' },
    ...(calls.length === 0 ? [{ text: '  none' }] : calls.flatMap(callLines)),
    ...(isPart
      ? [{ text: `  (the report has ${report.callsInFlight.length} of ${report.callsInFlightCount} calls)` }]
      : []),
  ];
}

function stuckLines(stuck: PlegReport['stuckPods'][number] | undefined): PageLine[] {
  if (stuck === undefined) return [{ text: 'State        ok' }];
  const { state, forMs, failures, error } = stuck;
  return [
    {
      text: `State        ${state} for ${formatMs(forMs)}, ${failures} inspections failed`,
      style: 'warning',
    },
    ...(error === undefined ? [] : [{ text: `Error        ${error}` }]),
  ];
}

function callLines({ operation, ageMs, deadlineMs, containerId, sandboxId }: ReportedCall): PageLine[] {
  const end = deadlineMs === undefined ? 'its caller ends it' : `given up after ${formatMs(deadlineMs)}`;
  return [
    { text: `  ${operation}, no answer for ${formatMs(ageMs)}; ${end}` },
    ...(sandboxId === undefined ? [] : [{ text: `    sandbox    ${sandboxId}` }]),
    ...(containerId === undefined ? [] : [{ text: `    container  ${containerId}` }]),
  ];
}
