import { type Tone } from '../data/shown-pod.js';
import { LabelPlaces } from './label-places.js';
import { type Row } from './rows.js';
import { type Tick, type TimeWindow } from './time-window.js';
import { type Band } from './timeline-source.js';
import { firstMarkFrom, type Mark, type MarkKind, type Span, type SpanKind } from './tracks.js';

/** Something that was drawn, and where, so that it can be pointed at. */
export interface Hit {
  readonly row: Row;
  readonly fromPx: number;
  readonly toPx: number;
  readonly topPx: number;
  readonly bottomPx: number;
  readonly span?: Span;
  /** Several that are too close to be distinguished; the worst first. */
  readonly marks?: readonly Mark[];
}

/** Colours, as the style sheet has them. */
export type Palette = Readonly<
  Record<
    Tone | 'grid' | 'day' | 'text' | 'muted' | 'pull' | 'now' | 'row' | 'surface' | 'onBar' | 'sync',
    string
  >
>;

/** What is drawn. */
export interface Drawing {
  readonly rows: readonly Row[];
  readonly window: TimeWindow;
  readonly ticks: readonly Tick[];
  /** What is known begins here. */
  readonly knownFromMs: number;
  /** Where the line of the present stands, or that of the moment of a recording. */
  readonly nowMs: number;
  /** What lasts is drawn up to here. */
  readonly endMs: number;
  /** Nothing is known behind the end. */
  readonly isRecording: boolean;
  readonly bands: readonly Band[];
  readonly widthPx: number;
  readonly heightPx: number;
  readonly scrollPx: number;
  readonly palette: Palette;
  readonly selectedRow: string | undefined;
  /** The span or mark whose details are shown. */
  readonly selected: Span | Mark | undefined;
  /** Normal events are many, and are drawn when somebody wants them. */
  readonly showsAll: boolean;
  readonly hiddenKinds: ReadonlySet<string>;
}

const FONT = '11px ui-sans-serif, system-ui, sans-serif';
/** Marks that are closer are drawn as one. */
const MERGE_PX = 9;
/** The end of a container's life. */
const END_PX = 5;
/** Nothing has room for words that is shorter. */
const MIN_LABEL_PX = 24;
const ORDER: readonly Tone[] = ['bad', 'warn', 'ok', 'info', 'quiet'];
const MARK_ORDER: readonly MarkKind[] = ['died', 'finding', 'restart', 'probe', 'call', 'node', 'event'];
/** Thickness of spans, and their distance from the middle of the row. */
const SHAPES: Readonly<Record<SpanKind, { readonly height: number; readonly shift: number }>> = {
  run: { height: 12, shift: 0 },
  pull: { height: 8, shift: 0 },
  sync: { height: 2, shift: 9 },
  call: { height: 4, shift: -9 },
  hang: { height: 22, shift: 0 },
  trouble: { height: 18, shift: 0 },
  gap: { height: 20, shift: 0 },
};

/** Draws the rows that can be seen, and returns what was drawn. */
export function drawLanes(context: CanvasRenderingContext2D, drawing: Drawing): Hit[] {
  const { rows, widthPx, heightPx, scrollPx, palette, window, ticks, nowMs, endMs } = drawing;
  const { knownFromMs, selectedRow, bands } = drawing;
  const toX = (ms: number): number => ((ms - window.fromMs) / (window.toMs - window.fromMs)) * widthPx;
  const hits: Hit[] = [];
  context.clearRect(0, 0, widthPx, heightPx);
  context.font = FONT;
  context.textBaseline = 'middle';
  for (const row of rows) {
    const y = row.topPx - scrollPx;
    context.fillStyle = row.key === selectedRow ? palette.row : 'transparent';
    if (row.key === selectedRow) context.fillRect(0, y, widthPx, row.heightPx);
    context.fillStyle = palette.grid;
    context.fillRect(0, y + row.heightPx - 1, widthPx, row.kind === 'container' ? 0.5 : 1);
  }
  for (const band of bands) drawBand(context, band, drawing, toX);
  for (const { atMs, isDay } of ticks) {
    context.fillStyle = isDay ? palette.day : palette.grid;
    context.fillRect(Math.round(toX(atMs)), 0, 1, heightPx);
  }
  for (const row of rows) drawRow(context, row, drawing, toX, hits);
  const knownX = toX(knownFromMs);
  if (knownX > 0) hatch(context, 0, 0, Math.min(knownX, widthPx), heightPx, palette.grid, 9);
  const endX = toX(endMs);
  if (drawing.isRecording && endX < widthPx)
    hatch(context, endX, 0, widthPx - endX, heightPx, palette.grid, 9);
  for (const band of bands) drawBandName(context, band, drawing, toX);
  const nowX = toX(nowMs);
  if (nowX >= 0 && nowX <= widthPx) {
    context.fillStyle = palette.now;
    context.fillRect(Math.round(nowX), 0, 1.5, heightPx);
  }
  return hits;
}

function drawRow(
  context: CanvasRenderingContext2D,
  row: Row,
  drawing: Drawing,
  toX: (ms: number) => number,
  hits: Hit[],
): void {
  const { window, endMs, widthPx, scrollPx, selected, hiddenKinds } = drawing;
  const middle = row.topPx - scrollPx + row.heightPx / 2;
  const spans = row.lanes.flatMap(({ index }) => index.between(window.fromMs, window.toMs));
  // Thin and short ones stay visible above long ones.
  const level = ({ kind }: Span): number =>
    ['gap', 'trouble', 'run', 'pull', 'hang', 'sync', 'call'].indexOf(kind);
  const labels: Label[] = [];
  let lastSyncX = -Infinity;
  for (const span of spans.sort((one, other) => level(one) - level(other) || one.fromMs - other.fromMs)) {
    if (hiddenKinds.has(groupOf(span.kind))) continue;
    const from = Math.max(-4, toX(span.fromMs));
    const to = Math.min(widthPx + 4, toX(span.toMs ?? endMs));
    const width = Math.max(to - from, span.kind === 'sync' || span.kind === 'call' ? 2 : 3);
    // A thousand syncs in one pixel are one.
    if (span.kind === 'sync' && width <= 2 && from - lastSyncX < 1.5) continue;
    if (span.kind === 'sync') lastSyncX = from;
    const { height, shift } = SHAPES[span.kind];
    const y = middle + shift - height / 2;
    const label = drawSpan(context, span, { x: from, y, width, height }, drawing);
    if (label !== undefined) labels.push(label);
    if (span === selected) outline(context, from - 2, y - 2, width + 4, height + 4, drawing.palette.text);
    hits.push({
      row,
      span,
      fromPx: from,
      toPx: from + width,
      topPx: Math.min(y, middle - 8),
      bottomPx: Math.max(y + height, middle + 8),
    });
  }
  const signs: Hit[] = [];
  const marks = row.lanes.flatMap((lane) => visibleMarks(lane.marks, drawing));
  marks.sort((one, other) => one.atMs - other.atMs);
  for (let at = 0; at < marks.length;) {
    const x = toX(marks[at]!.atMs);
    let end = at + 1;
    while (end < marks.length && toX(marks[end]!.atMs) - x < MERGE_PX) end++;
    const group = marks.slice(at, end).sort(worstFirst);
    drawMark(context, group, x, middle, drawing);
    signs.push({ row, marks: group, fromPx: x - 6, toPx: x + 6, topPx: middle - 9, bottomPx: middle + 9 });
    at = end;
  }
  hits.push(...signs);
  drawLabels(context, labels, signs);
}

function visibleMarks(marks: readonly Mark[], { window, showsAll, hiddenKinds }: Drawing): Mark[] {
  const from = firstMarkFrom(marks, window.fromMs);
  const to = firstMarkFrom(marks, window.toMs);
  return marks
    .slice(from, to)
    .filter(({ kind, tone }) => (showsAll || tone !== 'quiet') && !hiddenKinds.has(groupOf(kind)));
}

/** The group of a kind, as the buttons above the timeline name it. */
function groupOf(kind: SpanKind | MarkKind): string {
  if (kind === 'hang') return 'call';
  if (kind === 'died' || kind === 'run') return 'life';
  return kind;
}

/** An incident lies under all rows; its name stands at the lower edge. */
function drawBand(
  context: CanvasRenderingContext2D,
  { fromMs, toMs }: Band,
  { palette, widthPx, heightPx, endMs }: Drawing,
  toX: (ms: number) => number,
): void {
  const from = Math.max(0, toX(fromMs));
  const to = Math.min(widthPx, toX(toMs ?? endMs));
  if (to < from) return;
  const width = Math.max(2, to - from);
  context.fillStyle = palette.bad;
  context.globalAlpha = 0.09;
  context.fillRect(from, 0, width, heightPx);
  context.globalAlpha = 0.55;
  if (toX(fromMs) >= 0) context.fillRect(from, 0, 1, heightPx);
  if (toMs !== undefined && toX(toMs) <= widthPx) context.fillRect(from + width - 1, 0, 1, heightPx);
  context.globalAlpha = 1;
}

/** Above all rows, so that it can be read. */
function drawBandName(
  context: CanvasRenderingContext2D,
  { label, fromMs, toMs }: Band,
  { palette, widthPx, heightPx, endMs }: Drawing,
  toX: (ms: number) => number,
): void {
  const from = Math.max(0, toX(fromMs));
  const to = Math.min(widthPx, toX(toMs ?? endMs));
  if (to < from || from >= widthPx) return;
  const width = context.measureText(label).width + 12;
  const left = Math.min(from, widthPx - width);
  context.fillStyle = palette.bad;
  rounded(context, left, heightPx - 22, width, 18, 4);
  context.fillStyle = palette.onBar;
  context.fillText(label, left + 6, heightPx - 12.5);
}

function worstFirst(one: Mark, other: Mark): number {
  return (
    ORDER.indexOf(one.tone) - ORDER.indexOf(other.tone) ||
    MARK_ORDER.indexOf(one.kind) - MARK_ORDER.indexOf(other.kind)
  );
}

/** Words that name a span. */
interface Label {
  readonly text: string;
  readonly box: Box;
  readonly colour: string;
  readonly tone: Tone;
  readonly isAtEnd: boolean;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Draws it, and returns how it is named. */
function drawSpan(
  context: CanvasRenderingContext2D,
  span: Span,
  box: Box,
  { palette }: Drawing,
): Label | undefined {
  const { x, y, width, height } = box;
  const { kind, tone, label: text, toMs } = span;
  const colour =
    kind === 'pull' && tone !== 'bad' ? palette.pull : kind === 'sync' ? palette.sync : palette[tone];
  const label = { text, box, tone, isAtEnd: false };
  context.fillStyle = colour;
  switch (kind) {
    case 'hang':
    case 'trouble':
      context.globalAlpha = 0.16;
      rounded(context, x, y, width, height, 3);
      context.globalAlpha = 1;
      hatch(context, x, y, width, height, colour, 7);
      context.fillStyle = colour;
      context.fillRect(x, y, 2, height);
      if (toMs !== undefined) context.fillRect(x + width - 2, y, 2, height);
      return { ...label, colour: palette.text };
    case 'gap':
      hatch(context, x, y, width, height, palette.muted, 6);
      return { ...label, colour: palette.text };
    case 'run':
      return drawRun(context, span, box, palette);
    default:
      rounded(context, x, y, width, height, Math.min(2, width / 2));
      return kind === 'pull' ? { ...label, colour: palette.onBar } : undefined;
  }
}

/** A life is green while it lasts; how it ended stands at its end, and a short one is its end alone. */
function drawRun(
  context: CanvasRenderingContext2D,
  { tone, toMs, label: text }: Span,
  box: Box,
  palette: Palette,
): Label | undefined {
  const { x, y, width, height } = box;
  const isOver = toMs !== undefined;
  const isShort = width < 3 * END_PX;
  context.fillStyle = isOver && isShort ? palette[tone] : palette.ok;
  context.globalAlpha = isOver && !isShort ? 0.42 : 0.92;
  rounded(context, x, y, width, height, Math.min(4, width / 2));
  context.globalAlpha = 1;
  if (!isOver || isShort) return undefined;
  context.fillStyle = palette[tone];
  rounded(context, x + width - END_PX, y - 1, END_PX, height + 2, 2);
  return { text, box: { ...box, width: width - END_PX }, colour: palette.text, tone, isAtEnd: true };
}

/** Only where they have room beside the signs; words that are cut say nothing. The worst come first. */
function drawLabels(
  context: CanvasRenderingContext2D,
  labels: readonly Label[],
  signs: readonly Hit[],
): void {
  const places = new LabelPlaces(signs);
  const worst = [...labels].sort((one, other) => ORDER.indexOf(one.tone) - ORDER.indexOf(other.tone));
  for (const { text, box, colour, isAtEnd } of worst) {
    const { x, y, width, height } = box;
    if (text === '' || width < MIN_LABEL_PX) continue;
    const widthPx = context.measureText(text).width;
    const left = places.take({ fromPx: Math.max(x, 0) + 6, toPx: x + width - 4, widthPx, isAtEnd });
    if (left === undefined) continue;
    context.fillStyle = colour;
    context.fillText(text, left, y + height / 2 + 0.5);
  }
}

function drawMark(
  context: CanvasRenderingContext2D,
  group: readonly Mark[],
  x: number,
  y: number,
  { palette, selected }: Drawing,
): void {
  const [worst] = group;
  const { kind, tone } = worst!;
  // A probe that succeeds stands on the bar of its container, which has the same colour.
  const isGood = kind === 'probe' && tone === 'ok';
  context.fillStyle = isGood ? palette.surface : palette[tone];
  context.strokeStyle = isGood ? palette.ok : palette.surface;
  context.lineWidth = 1.5;
  context.beginPath();
  if (kind === 'probe') triangle(context, x, y, tone === 'bad' ? 1 : -1);
  else if (kind === 'restart') diamond(context, x, y);
  else if (kind === 'node') square(context, x, y);
  else context.arc(x, y, tone === 'quiet' ? 2.5 : 4.5, 0, 2 * Math.PI);
  context.stroke();
  context.fill();
  if (kind === 'died') {
    context.strokeStyle = palette.onBar;
    context.beginPath();
    context.moveTo(x - 2, y - 2);
    context.lineTo(x + 2, y + 2);
    context.moveTo(x + 2, y - 2);
    context.lineTo(x - 2, y + 2);
    context.stroke();
  }
  if (group.some((each) => each === selected)) outline(context, x - 8, y - 8, 16, 16, palette.text);
}

function triangle(context: CanvasRenderingContext2D, x: number, y: number, way: 1 | -1): void {
  context.moveTo(x - 5, y - 4 * way);
  context.lineTo(x + 5, y - 4 * way);
  context.lineTo(x, y + 5 * way);
  context.closePath();
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.moveTo(x, y - 6);
  context.lineTo(x + 6, y);
  context.lineTo(x, y + 6);
  context.lineTo(x - 6, y);
  context.closePath();
}

function square(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.rect(x - 4, y - 4, 8, 8);
}

function rounded(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
): void {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context.fill();
}

function outline(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string,
): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(x, y, width, height, 4);
  context.stroke();
}

/** Slanting lines: what is not known, or not well. */
function hatch(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string,
  stepPx: number,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.globalAlpha = 0.6;
  context.beginPath();
  for (let at = Math.floor((x - height) / stepPx) * stepPx; at < x + width; at += stepPx) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

/** The colours of an element, as its style sheet has them now. */
export function readPalette(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const names = [
    ...['ok', 'info', 'warn', 'bad', 'quiet', 'grid', 'day', 'text', 'muted', 'pull', 'now', 'row'],
    ...['surface', 'onBar', 'sync'],
  ];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  ) as Palette;
}
