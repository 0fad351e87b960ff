import { type PodLine } from '#node';
import { formatHumanDuration } from '#base/time/human-duration.js';
import { cut, pad, printable, type ScreenSize, textWidth } from './screen-text.js';

/** Something that happened, as the screen shows it. */
export interface NewsLine {
  readonly atMs: number;
  readonly text: string;
}

/** What a summary shows. */
export interface Summary {
  readonly title: string;
  readonly pods: readonly PodLine[];
  /** Oldest first. */
  readonly news: readonly NewsLine[];
  readonly nowMs: number;
}

const HEADER = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'] as const;
const GAP = '   ';
/** Narrowest a column gets that is shortened for the others, by its index; the first goes first. */
const SHORTENED: readonly (readonly [column: number, narrowest: number])[] = [
  [1, 12],
  [0, 7],
];
/** States that need nobody's attention. */
const WELL = new Set(['Running', 'Completed']);

/**
 * The rows of one screen: the pods as `kubectl get pods` has them, then what happened last. Never more rows, nor longer
 * ones, than there is room for. Pure.
 *
 * Where there is no room for all pods, those that are not well come first. What happened gets a third of the screen,
 * and whatever the pods leave.
 */
export function formatSummary(
  { title, pods, news, nowMs }: Summary,
  { columns, rows }: ScreenSize,
): string[] {
  const fit = (text: string): string => cut(printable(text), columns);
  const roomForPods = Math.max(2, rows - Math.floor(rows / 3) - 4);
  const table = formatTable(pods, nowMs, { columns, rows: roomForPods });
  const head = [fit(title), '', ...table, ''];
  const newest = news.slice(-Math.max(0, rows - head.length));
  const lines = newest.length === 0 || rows <= head.length ? [] : newest;
  const told = lines.map(({ atMs, text }) => fit(`${timeOfDay(atMs)}  ${text}`));
  return [...head, ...told].slice(0, Math.max(0, rows));
}

/** The table alone, header included, in at most so many rows. Pure. */
export function formatTable(
  pods: readonly PodLine[],
  nowMs: number,
  { columns, rows }: ScreenSize,
): string[] {
  if (pods.length === 0) return [cut('No pods', columns)];
  const isWhole = pods.length + 1 <= rows;
  const byNeed = [
    ...pods.filter((pod) => !WELL.has(pod.status)),
    ...pods.filter((pod) => WELL.has(pod.status)),
  ];
  const shown = isWhole ? pods : byNeed.slice(0, Math.max(0, rows - 2));
  const cells = [HEADER, ...shown.map((pod) => toCells(pod, nowMs))];
  const widths = fitWidths(
    HEADER.map((_, column) => Math.max(...cells.map((row) => textWidth(row[column]!)))),
    columns,
  );
  const lines = cells.map((row) =>
    cut(
      row
        .map((cell, column) => pad(cut(cell, widths[column]!), widths[column]!))
        .join(GAP)
        .trimEnd(),
      columns,
    ),
  );
  return isWhole ? lines : [...lines, cut(`… and ${pods.length - shown.length} more`, columns)];
}

function toCells(line: PodLine, nowMs: number): string[] {
  const { pod, ready, total, status, restarts, lastRestartAtMs, createdAtMs } = line;
  const ago = lastRestartAtMs === undefined ? '' : ` (${formatHumanDuration(nowMs - lastRestartAtMs)} ago)`;
  const age = createdAtMs === undefined ? '<unknown>' : formatHumanDuration(nowMs - createdAtMs);
  const restarted = restarts === 0 ? '0' : `${restarts}${ago}`;
  return [pod.namespace, pod.name, `${ready}/${total}`, status, restarted, age].map(printable);
}

function fitWidths(wanted: readonly number[], columns: number): number[] {
  const widths = [...wanted];
  for (const [column, narrowest] of SHORTENED) {
    const excess = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - columns;
    const width = widths[column]!;
    if (excess > 0) widths[column] = Math.max(Math.min(width, narrowest), width - excess);
  }
  return widths;
}

function timeOfDay(atMs: number): string {
  const at = new Date(atMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
