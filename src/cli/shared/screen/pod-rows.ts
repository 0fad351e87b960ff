import { type PodLine } from '#node';
import { formatHumanDuration } from '#base/time/human-duration.js';
import { cellWidth, fitCells } from './cell-text.js';
import { type Mark, type Row, type RowStyle } from './row.js';
import { printable } from './screen-text.js';

/** A pod as a screen shows it. */
export interface ScreenPod extends PodLine {
  /** What it is for, in its own words. */
  readonly about?: string | undefined;
}

/** A line of the list: a pod, or what several are grouped under. */
export type ListItem =
  | { readonly kind: 'pod'; readonly pod: ScreenPod; readonly isInGroup: boolean }
  | {
      readonly kind: 'group';
      readonly name: string;
      readonly pods: readonly ScreenPod[];
      readonly isOpen: boolean;
    };

/** What the lines are laid out by. */
export interface TableLayout {
  readonly columns: number;
  readonly nowMs: number;
  /** What stands above the ready containers (default: READY). */
  readonly readyHeading?: string | undefined;
}

type ColumnName = 'namespace' | 'name' | 'ready' | 'status' | 'restarts' | 'age';
type Cells = Readonly<Record<ColumnName, string>>;

const HEADINGS: Cells = {
  ...{ namespace: 'NAMESPACE', name: 'NAME', ready: 'READY', status: 'STATUS' },
  ...{ restarts: 'RESTARTS', age: 'AGE' },
};
const ALL: readonly ColumnName[] = ['namespace', 'name', 'ready', 'status', 'restarts', 'age'];
const INDENT = '  ';
/** A name that is shorter than that is of no use while there is something else to leave out. */
const SHORTEST_NAME = 15;
const SHORTEST_NAMESPACE = 7;
/** What a pod is for is not shown in less than that. */
const SHORTEST_ABOUT = 24;

/** A way to show the table in less and less room. */
interface Plan {
  readonly columns: readonly ColumnName[];
  readonly gap: number;
  readonly cutsNamespace?: boolean;
  /** Leaves out how long ago the last restart was. */
  readonly withoutAgo?: boolean;
}

const without = (...names: readonly ColumnName[]): readonly ColumnName[] =>
  ALL.filter((name) => !names.includes(name));

/** The widest first. The last one is taken whatever its width. */
const PLANS: readonly Plan[] = [
  { columns: ALL, gap: 3 },
  { columns: ALL, gap: 3, cutsNamespace: true },
  { columns: ALL, gap: 2, cutsNamespace: true },
  { columns: ALL, gap: 2, cutsNamespace: true, withoutAgo: true },
  { columns: without('namespace'), gap: 2, withoutAgo: true },
  { columns: without('namespace', 'age'), gap: 2, withoutAgo: true },
  { columns: without('namespace', 'age', 'restarts'), gap: 2 },
  { columns: without('namespace', 'age', 'restarts', 'ready'), gap: 2 },
];

const UNWELL = /Error|BackOff|Failed|OOMKilled|Evicted|Invalid|Unknown|DeadlineExceeded|CannotRun|ErrImage/;

/** How a pod is, by what its line says. */
export function healthOf({ status, ready, total }: PodLine): 'well' | 'changing' | 'unwell' {
  if (UNWELL.test(status)) return 'unwell';
  if (status === 'Completed' || status === 'Succeeded') return 'well';
  return status === 'Running' && ready >= total ? 'well' : 'changing';
}

/** The line with the headings, and one row for each item. Pure. */
export function layOutItems(
  items: readonly ListItem[],
  layout: TableLayout,
): { readonly header: Row; readonly rows: readonly Row[] } {
  const { columns, nowMs, readyHeading = HEADINGS.ready } = layout;
  const headings = { ...HEADINGS, ready: readyHeading };
  const cells = items.map((item) => (item.kind === 'pod' ? toCells(item, nowMs) : undefined));
  const known = cells.filter((each) => each !== undefined);
  const { plan, widths } = choosePlan([headings, ...known], columns);
  const used = plan.columns.reduce((sum, name) => sum + widths[name] + plan.gap, 0);
  const aboutWidth = items.some((item) => item.kind === 'pod' && item.pod.about !== undefined)
    ? columns - used
    : 0;
  const hasAbout = aboutWidth >= SHORTEST_ABOUT;
  const rowOf = (row: Cells, status: RowStyle | undefined, about = ''): Row => {
    const marks: Mark[] = [];
    let text = '';
    for (const name of plan.columns) {
      const begin = text.length;
      const shown =
        name === 'restarts' && plan.withoutAgo === true ? row[name].replace(/ \(.*/, '') : row[name];
      text += fitCells(shown, widths[name]);
      if (name === 'status' && status !== undefined)
        marks.push({ begin, end: begin + shown.length, style: status });
      text += ' '.repeat(plan.gap);
    }
    return { text: hasAbout ? text + about : text.trimEnd(), marks };
  };
  const rows = items.map((item, at): Row => {
    if (item.kind === 'group') return groupRow(item);
    return rowOf(cells[at]!, styleOf(item.pod), printable(item.pod.about ?? ''));
  });
  const header = rowOf(headings, undefined, 'WHAT IT IS FOR').text;
  return { header: { text: hasAbout ? header : header.trimEnd(), style: 'title' }, rows };
}

function styleOf(pod: ScreenPod): RowStyle {
  const health = healthOf(pod);
  if (health === 'unwell') return 'unhealthy';
  if (health === 'changing') return 'warning';
  return pod.status === 'Running' ? 'good' : 'dim';
}

function groupRow({ name, pods, isOpen }: Extract<ListItem, { kind: 'group' }>): Row {
  const unwell = pods.filter((pod) => healthOf(pod) === 'unwell').length;
  const changing = pods.filter((pod) => healthOf(pod) === 'changing').length;
  const counts = [
    `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`,
    ...(unwell > 0 ? [`${unwell} not well`] : []),
    ...(changing > 0 ? [`${changing} not ready`] : []),
  ].join(', ');
  const text = `${isOpen ? '▼' : '►'} ${printable(name)}  ${counts}`;
  const style = unwell > 0 ? 'unhealthy' : changing > 0 ? 'warning' : undefined;
  return style === undefined ? { text } : { text, style };
}

function toCells({ pod: line, isInGroup }: Extract<ListItem, { kind: 'pod' }>, nowMs: number): Cells {
  const { pod, ready, total, status, restarts, lastRestartAtMs, createdAtMs } = line;
  const ago = lastRestartAtMs === undefined ? '' : ` (${formatHumanDuration(nowMs - lastRestartAtMs)} ago)`;
  return {
    namespace: (isInGroup ? INDENT : '') + printable(pod.namespace),
    name: printable(pod.name === '' ? pod.uid : pod.name),
    ready: `${ready}/${total}`,
    status: printable(status),
    restarts: restarts === 0 ? '0' : `${restarts}${ago}`,
    age: createdAtMs === undefined ? '<unknown>' : formatHumanDuration(nowMs - createdAtMs),
  };
}

function choosePlan(
  rows: readonly Cells[],
  columns: number,
): { readonly plan: Plan; readonly widths: Readonly<Record<ColumnName, number>> } {
  const natural = (plan: Plan, name: ColumnName): number => {
    const shown = (cell: string): string =>
      name === 'restarts' && plan.withoutAgo === true ? cell.replace(/ \(.*/, '') : cell;
    return Math.max(...rows.map((row) => cellWidth(shown(row[name]))));
  };
  const widthsOf = (plan: Plan): Record<ColumnName, number> => {
    const widths = { namespace: 0, name: 0, ready: 0, status: 0, restarts: 0, age: 0 };
    for (const name of plan.columns) widths[name] = natural(plan, name);
    const others = (): number =>
      plan.columns.reduce((sum, name) => sum + (name === 'name' ? 0 : widths[name]), 0) +
      plan.gap * (plan.columns.length - 1);
    const needed = Math.min(widths.name, SHORTEST_NAME);
    if (plan.cutsNamespace === true && others() + needed > columns) {
      const excess = others() + needed - columns;
      widths.namespace = Math.max(Math.min(widths.namespace, SHORTEST_NAMESPACE), widths.namespace - excess);
    }
    widths.name = Math.max(1, Math.min(widths.name, Math.max(needed, columns - others())));
    return widths;
  };
  const fitting = PLANS.find((plan) => {
    const widths = widthsOf(plan);
    const all = plan.columns.reduce((sum, name) => sum + widths[name], plan.gap * (plan.columns.length - 1));
    return all <= columns;
  });
  const plan = fitting ?? PLANS.at(-1)!;
  return { plan, widths: widthsOf(plan) };
}
