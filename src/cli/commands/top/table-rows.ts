import { type PlegReport } from '#kube/node/pleg-report.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { cellWidth, cutCells, fitCells } from '../../shared/screen/cell-text.js';
import { printable } from '../../shared/screen/screen-text.js';
import { formatMs } from './format-ms.js';
import { type Row } from '../../shared/screen/row.js';
import { matches, type PodRow } from './sort-pods.js';

const GAP = '  ';
/** Narrower than that no name is cut. */
const NARROWEST_NAME = 12;

interface Column {
  readonly name: string;
  /** Cut where there is no room for all. */
  readonly isLong?: boolean;
  /** Numbers stand right under one another. */
  readonly isNumber?: boolean;
}

const POD_COLUMNS: readonly Column[] = [
  { name: 'POD', isLong: true },
  { name: 'NOW', isNumber: true },
  { name: 'LAST', isNumber: true },
  { name: 'LONGEST', isNumber: true },
  { name: 'COUNT', isNumber: true },
  { name: 'FAILED', isNumber: true },
  { name: 'STATE' },
];
const CALL_COLUMNS: readonly Column[] = [
  { name: 'CALL IN FLIGHT' },
  { name: 'AGE', isNumber: true },
  { name: 'GIVEN UP AFTER', isNumber: true },
  { name: 'POD', isLong: true },
  { name: 'ABOUT' },
];
/** As much of an id as crictl shows. */
const SHORT_ID = 13;

/** The table of pods, header included, in at most so many rows, with the one at the place `selected` among them. Pure. */
export function podRows(
  pods: readonly PodRow[],
  room: { columns: number; rows: number; selected: number | undefined },
): Row[] {
  const bodyRows = Math.max(0, room.rows - 1);
  const wanted = (room.selected ?? 0) - Math.floor(bodyRows / 2);
  const offset = Math.max(0, Math.min(wanted, pods.length - bodyRows));
  const shown = pods.slice(offset, offset + bodyRows);
  const cells = shown.map(({ pod, inFlightMs, lastMs, longestMs, count, failed, stuck }) => [
    formatPod(pod),
    formatMs(inFlightMs),
    formatMs(lastMs),
    count === 0 ? '-' : formatMs(longestMs),
    String(count),
    String(failed),
    stuck === undefined ? 'ok' : `${stuck.state} ${formatMs(stuck.forMs)}`,
  ]);
  const [header = '', ...body] = layOut(POD_COLUMNS, cells, room.columns);
  return [
    { text: header, style: 'title' as const },
    ...body.map((text, at): Row => {
      if (offset + at === room.selected) return { text, style: 'selected' };
      return shown[at]!.stuck === undefined ? { text } : { text, style: 'warning' };
    }),
  ].slice(0, Math.max(0, room.rows));
}

/** The table of calls in flight that the filter leaves, oldest first; nothing when there are none. Pure. */
export function callRows(
  { callsInFlight, callsInFlightCount }: PlegReport,
  { columns, rows, filter }: { columns: number; rows: number; filter: string },
): Row[] {
  const calls = callsInFlight.filter(({ operation, pod, containerId = '' }) =>
    matches(filter, [operation, containerId, ...(pod === undefined ? [] : [formatPod(pod), pod.uid])]),
  );
  if (calls.length === 0 || rows < 2) return [];
  const isWhole = calls.length + 1 <= rows && callsInFlight.length === callsInFlightCount;
  const shown = isWhole ? calls : calls.slice(0, Math.max(0, rows - 2));
  const cells = shown.map(({ operation, ageMs, deadlineMs, pod, containerId, sandboxId }) => [
    operation,
    formatMs(ageMs),
    formatMs(deadlineMs),
    pod === undefined ? '-' : formatPod(pod),
    containerId === undefined
      ? sandboxId === undefined
        ? ''
        : `sandbox ${sandboxId.slice(0, SHORT_ID)}`
      : `container ${containerId.slice(0, SHORT_ID)}`,
  ]);
  const [header = '', ...body] = layOut(CALL_COLUMNS, cells, columns);
  const more = callsInFlightCount - callsInFlight.length + calls.length - shown.length;
  return [
    { text: header, style: 'title' },
    ...body.map((text) => ({ text })),
    ...(isWhole ? [] : [{ text: `… and ${more} more`, style: 'dim' as const }]),
  ];
}

function layOut(columns: readonly Column[], cells: readonly (readonly string[])[], width: number): string[] {
  const rows = [columns.map(({ name }) => name), ...cells.map((row) => row.map(printable))];
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => cellWidth(row[at]!))));
  const excess = widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1)) - width;
  const long = columns.findIndex(({ isLong }) => isLong === true);
  if (excess > 0) widths[long] = Math.max(Math.min(NARROWEST_NAME, widths[long]!), widths[long]! - excess);
  return rows.map((row) =>
    row
      .map((cell, at) => {
        if (columns[at]!.isNumber !== true) return fitCells(cell, widths[at]!);
        const number = cutCells(cell, widths[at]!);
        return ' '.repeat(widths[at]! - cellWidth(number)) + number;
      })
      .join(GAP),
  );
}
