import { type PlegReport, type ReportedRelist } from '#kube/node/pleg-report.js';
import { printable } from '../../shared/screen/screen-text.js';
import { type EventRates } from './event-rates.js';
import { formatMs } from './format-ms.js';
import { nameCulprit } from './name-culprit.js';
import { type Row } from '../../shared/screen/row.js';
import { sparkline } from './sparkline.js';

/** How events are called in a row of them. */
const EVENT_WORDS: Readonly<Record<string, string>> = {
  ContainerStarted: 'started',
  ContainerDied: 'died',
  ContainerRemoved: 'removed',
  ContainerChanged: 'changed',
  PodSync: 'synced',
};
/** The longest sparkline. */
const SPARKS = 60;
const HEALTH_ROWS = 3;
const INDENT = ' '.repeat('Health    '.length);
/** Where sparklines begin, so that one stands below the other. */
const SPARKS_AT = 64;
/** What stands behind one, about. */
const BEHIND_SPARKS = '  max 99.99s'.length;

/** The rows above the tables: health, relists, events, pods, what waits, and the event loop. Pure. */
export function overviewRows(
  report: PlegReport,
  rates: Pick<EventRates, 'history' | 'byType'>,
  columns: number,
): Row[] {
  const verdict = nameCulprit(report);
  const { severity } = verdict;
  const text = printable(verdict.text);
  const sparks = Math.max(8, Math.min(SPARKS, columns - SPARKS_AT - BEHIND_SPARKS));
  return [
    ...wrap(`Health    ${text}`, columns).map((line) => ({
      text: line,
      ...(severity === 'ok' ? {} : { style: severity }),
    })),
    ...relistRows(report, sparks),
    { text: eventLine(rates, sparks) },
    { text: podLine(report) },
    { text: streamLine(report) },
    { text: waitingLine(report) },
    { text: loopLine(report) },
  ];
}

function relistRows(report: PlegReport, sparks: number): Row[] {
  const { relists, periodMs, mode } = report;
  const { history, listInFlightMs } = relists;
  const last = history.at(-1);
  const failed = history.filter(({ error }) => error !== undefined).length;
  const durations = sparkline(
    history.map(({ durationMs }) => durationMs),
    sparks,
  );
  const intervals = sparkline(
    history.map(({ intervalMs }) => intervalMs),
    sparks,
  );
  const most = Math.max(0, ...history.map(({ durationMs }) => durationMs));
  const parts = last === undefined ? 'none has ended yet' : describeRelist(last);
  const asking = listInFlightMs === undefined ? '' : `, listing for ${formatMs(listInFlightMs)}`;
  const failures = failed === 0 ? '' : `, ${failed} of ${history.length} failed`;
  return [
    { text: `${columnsOf(`Relist    ${parts}${asking}${failures}`, durations)}  max ${formatMs(most)}` },
    {
      text: columnsOf(
        `Period    ${formatMs(last?.intervalMs)} from begin to begin (${mode}: ${formatMs(periodMs)} between)`,
        intervals,
      ),
    },
  ];
}

function describeRelist({ durationMs, listMs, diffMs, inspectMs }: ReportedRelist): string {
  const parts = `list ${formatMs(listMs)} diff ${formatMs(diffMs)} inspect ${formatMs(inspectMs)}`;
  return `${formatMs(durationMs)} (${parts})`;
}

function eventLine({ history, byType }: Pick<EventRates, 'history' | 'byType'>, sparks: number): string {
  const rate = history.at(-1) ?? 0;
  const types = Object.entries(byType)
    .filter(([, each]) => each > 0)
    .map(([type, each]) => `${EVENT_WORDS[type] ?? type} ${each.toFixed(1)}`);
  const parts = types.length === 0 ? '' : ` (${types.join(' ')})`;
  return columnsOf(`Events    ${rate.toFixed(1)}/s${parts}`, sparkline(history, sparks));
}

function podLine({ pods }: PlegReport): string {
  const { count, running, containersByState, byPhase } = pods;
  const phases = byPhase === undefined ? '' : `; ${listCounts(byPhase)}`;
  return `Pods      ${count}, ${running} running${phases}; containers: ${listCounts(containersByState)}`;
}

function listCounts(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0 ? 'none' : parts.map(([name, count]) => `${name} ${count}`).join(' ');
}

function streamLine({ stream }: PlegReport): string {
  const { state, received, announced, missed, contradicted, failures, lastError } = stream;
  if (state === 'off' && received === 0) return 'Stream    off: podloop lists by its period alone';
  const counts = `received ${received}, announced ${announced}, missed ${missed}, contradicted ${contradicted}`;
  const broken = failures === 0 ? '' : `, broke ${failures}×`;
  const error = state !== 'up' && lastError !== undefined ? `: ${lastError}` : '';
  return `Stream    ${state}${error}; ${counts}${broken}`;
}

function waitingLine({ inspections, queues }: PlegReport): string {
  const { inFlight, queued, due, displaced } = inspections;
  const { requests, subscriptions } = queues;
  const unread = subscriptions.reduce((sum, each) => sum + each.queued, 0);
  const folded = subscriptions.reduce((sum, each) => sum + each.folded, requests.folded);
  const inspecting = `inspections ${inFlight} under way, ${queued} queued, ${due} due`;
  const given = displaced === 0 ? '' : `, ${displaced} displaced`;
  return `Waiting   ${inspecting}${given}; requests ${requests.queued}; events unread ${unread}, folded ${folded}`;
}

function loopLine({ eventLoop: { p99Ms, maxMs } }: PlegReport): string {
  return `Loop      podloop’s own event loop is late by ${formatMs(p99Ms)} (p99), ${formatMs(maxMs)} (max)`;
}

/** Who is to blame is not to be cut off: up to three rows of it, the further ones below the words of the first. */
function wrap(text: string, columns: number): string[] {
  const width = Math.max(40, columns);
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width && lines.length < HEALTH_ROWS - 1) {
    const space = rest.lastIndexOf(' ', width);
    const at = space > INDENT.length ? space : width;
    lines.push(rest.slice(0, at));
    rest = INDENT + rest.slice(at).trimStart();
  }
  return [...lines, rest];
}

/** Text, and what stands in a column of its own behind it where it is short enough. */
function columnsOf(text: string, behind: string): string {
  return `${text.padEnd(SPARKS_AT - 2)}  ${behind}`;
}
