import { type PlegReport } from '#kube/node/pleg-report.js';
import { type ScreenSize } from '../../shared/screen/screen-text.js';
import { type EventRates } from './event-rates.js';
import { overviewRows } from './overview-rows.js';
import { wrapWords } from '../../shared/screen/cell-text.js';
import { titleRows } from '../../shared/screen/list-rows.js';
import { type Row } from '../../shared/screen/row.js';
import { selectPods } from './sort-pods.js';
import { callRows, podRows } from './table-rows.js';
import { findSelected, KEY_HELP, type TopView } from './top-view.js';

/** What there is to show. */
export interface TopHarness {
  readonly title: string;
  readonly report: PlegReport;
  readonly rates: Pick<EventRates, 'history' | 'byType'>;
  readonly view: TopView;
  /** Why there is nothing newer; undefined while there is. */
  readonly problem: string | undefined;
  /** Whether somebody can press keys (default: true); otherwise nothing is selected. */
  readonly hasKeyboard?: boolean;
}

/** A part of the screen for calls in flight, where there are so many. */
const SHARE_OF_CALLS = 0.3;
const KEYS = '? help  q quit  Enter details  / filter  s sort  r reverse  space pause';

/** The rows of one screen, no more than fit. Pure. */
export function topRows(scene: TopHarness, size: ScreenSize): Row[] {
  const { title, report, rates, view, problem, hasKeyboard = true } = scene;
  const time = new Date(report.atMs).toTimeString().slice(0, 8);
  const pods = selectPods(report, view);
  const foot = footRow(scene, pods.length);
  const paused = view.isPaused ? '   PAUSED' : '';
  const head: Row[] = titleRows(`podloop top   ${time}${paused}   ${title}`, size);
  if (problem !== undefined) head.push({ text: problem, style: 'unhealthy' });
  if (view.showsHelp) return withFoot([...head, { text: '' }, ...helpRows(size)], foot, size);
  head.push(...overviewRows(report, rates, size.columns));
  const { filter } = view;
  const room = Math.max(0, size.rows - head.length - 1);
  const callRoom = Math.floor(room * SHARE_OF_CALLS);
  const calls = callRows(report, { columns: size.columns, rows: callRoom, filter });
  const table = podRows(pods, {
    columns: size.columns,
    rows: room - calls.length,
    selected: hasKeyboard ? findSelected(pods, view) : undefined,
  });
  return withFoot([...head, ...calls, ...table], foot, size);
}

/** All there is, one below the other, for whoever reads it from a file or a pipe. Pure. */
export function plainTopRows({ report, rates, view, title }: TopHarness): Row[] {
  const columns = 120;
  const everything = { columns: Number.MAX_SAFE_INTEGER, rows: Number.MAX_SAFE_INTEGER };
  const calls = callRows(report, { ...everything, filter: view.filter });
  const pods = podRows(selectPods(report, view), { ...everything, selected: undefined });
  return [
    { text: `podloop top   ${title}   ${new Date(report.atMs).toISOString()}` },
    ...overviewRows(report, rates, columns),
    { text: '' },
    ...(calls.length === 0 ? [] : [...calls, { text: '' }]),
    ...pods,
  ];
}

function footRow({ view, report }: TopHarness, matching: number): Row {
  const { order, reversed, filter, isTyping } = view;
  if (isTyping) return { text: `/${filter}▏`, style: 'title' };
  const sorted = `sort: ${order}${reversed ? ' (reversed)' : ''}`;
  const filtered =
    filter === '' ? '' : `   filter: ${filter} (${matching} of ${report.slowestPods.length} pods)`;
  return { text: `${sorted}${filtered}   ${KEYS}`, style: 'dim' };
}

function helpRows({ columns }: ScreenSize): Row[] {
  const width = Math.max(...KEY_HELP.map(([keys]) => keys.length)) + 3;
  return KEY_HELP.flatMap(([keys, what]) =>
    wrapWords(`  ${keys.padEnd(width)}${what}`, Math.max(1, columns), width + 2).map((text) => ({ text })),
  );
}

/** The rows with the last one at the bottom of the screen. */
function withFoot(rows: readonly Row[], foot: Row, { rows: height }: ScreenSize): Row[] {
  if (height < 2) return rows.slice(0, Math.max(0, height));
  const body = rows.slice(0, height - 1);
  const empty = Array.from({ length: height - 1 - body.length }, (): Row => ({ text: '' }));
  return [...body, ...empty, foot];
}
