import { type Tone } from '../data/shown-pod.js';
import { type TimeWindow } from './time-window.js';
import { type PodStates } from './timeline-source.js';
import { firstMarkFrom, type Lane, type Mark, NODE, type Span, type Track, type Tracks } from './tracks.js';

/** A line of the timeline. */
export interface Row {
  readonly key: string;
  readonly track: Track;
  /** What is drawn in it, over one another. */
  readonly lanes: readonly Lane[];
  readonly kind: 'node' | 'workload' | 'pod' | 'container';
  readonly label: string;
  /** Behind the label, smaller. */
  readonly more: string;
  readonly tone: Tone;
  readonly topPx: number;
  readonly heightPx: number;
}

/** What was clicked at. */
export interface Selection {
  readonly row: Row;
  readonly item?: Span | Mark;
  /** Several marks at one place. */
  readonly others?: readonly Mark[];
}

/** Something that went wrong, and where. */
export interface Problem {
  readonly row: Row;
  readonly item: Span | Mark;
  readonly atMs: number;
}

/** Which rows are wanted. */
export interface RowFilter {
  /** A part of namespace, name or container; in any case of letters. */
  readonly text: string;
  /** Pods with warnings alone, and those that are not as they should be. */
  readonly onlyTrouble: boolean;
  /** One pod alone. */
  readonly uid?: string | undefined;
}

/** Heights of rows. */
const HEIGHTS = { node: 30, workload: 28, pod: 28, container: 24 } as const;

/** The rows of a timeline: the node, then each workload, and each pod with its containers, by namespace and name. */
export function layOutRows(
  tracks: Tracks,
  pods: Pick<PodStates, 'judge'>,
  { text, onlyTrouble, uid }: RowFilter,
): Row[] {
  const rows: Row[] = [];
  let topPx = 0;
  const push = (row: Omit<Row, 'topPx' | 'heightPx'>): void => {
    const heightPx = HEIGHTS[row.kind];
    rows.push({ ...row, topPx, heightPx });
    topPx += heightPx;
  };
  const wanted = text.trim().toLowerCase();
  const all = [...tracks.byKey.values()].filter(({ key }) => key !== NODE);
  const shown = all
    .filter((track) => (uid === undefined ? matches(track, wanted) : track.key === uid))
    .filter((track) => !onlyTrouble || track.warnings > 0 || isTrouble(pods.judge(track)?.tone))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  if (uid === undefined)
    push({
      ...{ key: NODE, track: tracks.node, lanes: [tracks.node.lane, ...tracks.node.containers.values()] },
      ...{ kind: 'node', label: 'Node and runtime', more: '', tone: 'info' },
    });
  for (const track of shown) {
    const verdict = pods.judge(track);
    const tone = verdict?.tone ?? 'quiet';
    if (track.workload !== undefined) {
      const more = track.namespace === 'default' ? track.workload : `${track.workload} in ${track.namespace}`;
      push({ key: track.key, track, lanes: [track.lane], kind: 'workload', label: track.name, more, tone });
      continue;
    }
    const containers = [...track.containers.values()];
    const isOne = containers.length <= 1;
    const more = verdict === undefined ? 'gone' : track.namespace === 'default' ? '' : track.namespace;
    const lanes = isOne ? [track.lane, ...containers] : [track.lane];
    push({ key: track.key, track, lanes, kind: 'pod', label: track.name, more, tone });
    if (isOne) continue;
    for (const lane of containers)
      push({
        ...{ key: `${track.key} ${lane.name}`, track, lanes: [lane], kind: 'container' },
        ...{ label: lane.name, more: '', tone },
      });
  }
  return rows;
}

/** When it happened, or began. */
export function timeOf(item: Span | Mark): number {
  return 'atMs' in item ? item.atMs : item.fromMs;
}

/** What happened in a row and can be stepped through, in the order of its time. */
export function itemsOf({ lanes }: Row): (Span | Mark)[] {
  const items = lanes.flatMap(({ marks, spans }) => [
    ...marks,
    ...spans.filter(({ kind }) => kind !== 'sync'),
  ]);
  return items.sort((one, other) => timeOf(one) - timeOf(other));
}

/** The height of all rows. */
export function heightOf(rows: readonly Row[]): number {
  const last = rows.at(-1);
  return last === undefined ? 0 : last.topPx + last.heightPx;
}

/** The rows between two heights. */
export function rowsBetween(rows: readonly Row[], fromPx: number, toPx: number): Row[] {
  return rows.filter(({ topPx, heightPx }) => topPx + heightPx > fromPx && topPx < toPx);
}

/** How much happened in a part of time; warnings are what `findProblems` lists. */
export function countIn(
  rows: readonly Row[],
  { fromMs, toMs }: TimeWindow,
): { warnings: number; restarts: number } {
  let [warnings, restarts] = [0, 0];
  const lanes = new Set(rows.flatMap((row) => row.lanes));
  for (const { marks, troubles } of lanes) {
    for (const span of troubles) if (span.fromMs <= toMs && (span.toMs ?? Infinity) >= fromMs) warnings++;
    for (let at = firstMarkFrom(marks, fromMs); at < marks.length && marks[at]!.atMs <= toMs; at++) {
      const { tone, kind } = marks[at]!;
      if (kind === 'restart') restarts++;
      if (tone === 'bad' || tone === 'warn') warnings++;
    }
  }
  return { warnings, restarts };
}

/** What went wrong in a part of time, in the order of its begin: warnings, calls that hung, and findings. */
export function findProblems(rows: readonly Row[], { fromMs, toMs }: TimeWindow): Problem[] {
  const problems: Problem[] = [];
  for (const row of rows) {
    for (const { marks, troubles } of row.lanes) {
      for (let at = firstMarkFrom(marks, fromMs); at < marks.length && marks[at]!.atMs <= toMs; at++) {
        const mark = marks[at]!;
        if (mark.tone === 'bad' || mark.tone === 'warn') problems.push({ row, item: mark, atMs: mark.atMs });
      }
      for (const span of troubles)
        if (span.fromMs <= toMs && (span.toMs ?? Infinity) >= fromMs)
          problems.push({ row, item: span, atMs: span.fromMs });
    }
  }
  return problems.sort((one, other) => one.atMs - other.atMs);
}

function matches({ namespace, name, containers }: Track, text: string): boolean {
  if (text === '') return true;
  return [namespace, name, ...containers.keys()].some((each) => each.toLowerCase().includes(text));
}

function isTrouble(tone: Tone | undefined): boolean {
  return tone === 'warn' || tone === 'bad';
}

function keyOf({ namespace, name, key }: Track): string {
  return `${namespace}/${name}/${key}`;
}
