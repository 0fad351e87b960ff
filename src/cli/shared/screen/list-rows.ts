import { formatPod } from '#kube/pod/pod-ref.js';
import { cellWidth, cutCells, wrapCells, wrapParts, wrapWords } from './cell-text.js';
import { findSelected, INITIAL_LIST_VIEW, type PodListView, toItems } from './pod-list.js';
import { layOutItems, type ListItem, type ScreenPod } from './pod-rows.js';
import { type Row, type RowStyle } from './row.js';
import { printable, type ScreenSize } from './screen-text.js';

/** Something that happened, as the screen shows it: one line. */
export interface NewsLine {
  readonly atMs: number;
  /** The pod that it is about, which is shortened where there is no room. */
  readonly pod?: string;
  readonly text: string;
  readonly style?: RowStyle;
}

/** What a screen of pods shows. */
export interface ListScene {
  readonly title: string;
  /** What to type next, for example; below the title, and only where there is room. */
  readonly hints?: readonly string[];
  /** Why what is shown may be of the past; undefined when it is not. */
  readonly banner?: string | undefined;
  readonly pods: readonly ScreenPod[];
  /** Oldest first. */
  readonly news: readonly NewsLine[];
  readonly nowMs: number;
  /** Undefined where nobody can press a key: nothing is selected then. */
  readonly view?: PodListView | undefined;
  /** In the last row, instead of the keys. */
  readonly message?: string | undefined;
  readonly readyHeading?: string | undefined;
}

const KEYS = '? help  q quit  Enter details  l logs  s shell  / search  e events  t group';
/** The time and the gaps of a line of what happened. */
const SPACE_IN_NEWS = 'hh:mm:ss    '.length;
/** So that what goes on begins below the words. */
const NEWS_INDENT = 'hh:mm:ss  '.length;
/** A line is one row where there is so much room. */
const WIDE_ENOUGH = 80;
const MAX_ROWS_IN_NEWS = 3;
/** Hints never take more of the screen than that. */
const SHARE_FOR_HINTS = 0.25;

/** The items of the list, in the order of the screen. Pure. */
export function itemsOf(scene: ListScene, size: ScreenSize): ListItem[] {
  return toItems(scene.pods, scene.view ?? INITIAL_LIST_VIEW, roomOf(scene, size).items);
}

/**
 * The rows of one screen: the pods as `kubectl get pods` has them, then what happened last, one line each, or up to three
 * on a narrow screen. Never more rows than there is room for. Pure.
 *
 * What happened gets a third of the screen, and whatever the pods leave.
 */
export function listRows(scene: ListScene, size: ScreenSize): Row[] {
  const { news, view, nowMs, readyHeading, message } = scene;
  const { columns, rows: height } = size;
  const head = headRows(scene, size);
  const items = itemsOf(scene, size);
  const room = roomOf(scene, size).items;
  const selected = view === undefined ? undefined : findSelected(items, view);
  const { header, rows } = layOutItems(items, { columns, nowMs, readyHeading });
  const top = Math.max(0, Math.min((selected ?? 0) - Math.floor(room / 2), rows.length - room));
  const shown = rows.slice(top, top + room).map((row, at): Row => {
    return top + at === selected ? { text: row.text, style: 'selected' } : row;
  });
  const hidden = items.length - shown.length;
  const table = items.length === 0 ? [{ text: emptyText(scene) }] : [header, ...shown];
  const below =
    items.length === 0 || selected === undefined ? [] : aboutRows(items[selected]!, rows[selected]!, columns);
  const counted =
    hidden > 0
      ? [{ text: `${top + 1}-${top + shown.length} of ${items.length} lines`, style: 'dim' as const }]
      : [];
  const foot: Row[] = view === undefined ? [] : [footRow(view, message)];
  const body: Row[] = [...head, ...table, ...counted, ...below, { text: '' }];
  const left = Math.max(0, height - foot.length - body.length);
  const filled = [...body, ...newsRows(news, left, columns)].slice(0, Math.max(0, height - foot.length));
  const empty = Array.from({ length: foot.length === 0 ? 0 : height - foot.length - filled.length }, () => ({
    text: '',
  }));
  return [...filled, ...empty, ...foot].slice(0, Math.max(0, height));
}

/** What happened last, in so many rows: on a narrow screen a line goes on in further ones. */
function newsRows(news: readonly NewsLine[], room: number, columns: number): Row[] {
  let rows: Row[] = [];
  for (let at = news.length - 1; at >= 0 && rows.length < room; at--) {
    const { text, ...rest } = toNewsRow(news[at]!, columns);
    const parts = columns < WIDE_ENOUGH ? wrapWords(text, Math.max(1, columns), NEWS_INDENT) : [text];
    const shown = parts.slice(0, MAX_ROWS_IN_NEWS);
    const hidden = parts.slice(MAX_ROWS_IN_NEWS - 1).map((part) => part.trim());
    // Cut where it is painted.
    if (parts.length > MAX_ROWS_IN_NEWS)
      shown[MAX_ROWS_IN_NEWS - 1] = ' '.repeat(NEWS_INDENT) + hidden.join(' ');
    if (rows.length > 0 && rows.length + shown.length > room) break;
    rows = [...shown.map((part): Row => ({ ...rest, text: part })), ...rows];
  }
  return rows.slice(0, room);
}

/** A line of what happened, with its time; the pod of one that is too long is shortened to a third of the columns. */
export function toNewsRow({ atMs, pod = '', text, style }: NewsLine, columns = Infinity): Row {
  const at = new Date(atMs);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  const [name, words] = [printable(pod), printable(text)];
  const isLong = cellWidth(name) + cellWidth(words) + SPACE_IN_NEWS > columns;
  const who = isLong ? cutCells(name, Math.floor(columns / 3)) : name;
  const line = [time, ...(who === '' ? [] : [who]), words].join('  ');
  return { text: line, ...(style === undefined ? {} : { style }) };
}

function headRows(scene: ListScene, size: ScreenSize): Row[] {
  const { title, banner } = scene;
  return [
    ...titleRows(title, size),
    ...(banner === undefined ? [] : [{ text: banner, style: 'unhealthy' as const }]),
    ...hintRows(scene, size),
    { text: '' },
  ];
}

/** The title, which goes on in further rows where one is too short for it and there are many. */
export function titleRows(title: string, { columns, rows }: ScreenSize): Row[] {
  const most = Math.max(1, Math.floor(rows / 8));
  const lines = wrapParts(printable(title), Math.max(1, columns)).slice(0, most);
  return lines.map((text) => ({ text, style: 'title' }));
}

/** The first hints, as many as leave room for all pods. */
function hintRows({ hints = [], pods, ...rest }: ListScene, size: ScreenSize): Row[] {
  const { columns, rows } = size;
  const free = rows - Math.floor(rows / 3) - rowsBesides(rest, size) - pods.length;
  const room = Math.min(free, Math.floor(rows * SHARE_FOR_HINTS));
  const shown: string[] = [];
  for (const hint of hints) {
    // Not between words: a command or a path is to be copied.
    const lines = wrapCells(printable(hint), Math.max(1, columns));
    if (shown.length + lines.length > room) break;
    shown.push(...lines);
  }
  return shown.map((text) => ({ text }));
}

/** How many rows there are besides hints, pods and what happened. */
function rowsBesides(
  { title, banner, view }: Pick<ListScene, 'title' | 'banner' | 'view'>,
  size: ScreenSize,
): number {
  // An empty row, the headings, the count of lines, what the selected pod is for, and another empty row.
  return 5 + titleRows(title, size).length + (banner === undefined ? 0 : 1) + (view === undefined ? 0 : 1);
}

/** How many items there is room for below the headings, at least one. */
function roomOf(scene: ListScene, size: ScreenSize): { readonly items: number } {
  const others = rowsBesides(scene, size) + hintRows(scene, size).length;
  return { items: Math.max(1, size.rows - Math.floor(size.rows / 3) - others) };
}

function emptyText({ pods, view }: ListScene): string {
  if (pods.length === 0) return 'No pods';
  return `No pod has ${JSON.stringify(view?.filter ?? '')} in its name, status or owner; Esc shows all`;
}

/** The name of the selected pod and what it is for, where the table has no room for all of them. */
function aboutRows(item: ListItem, row: Row, columns: number): Row[] {
  if (item.kind === 'group') return [];
  const { pod, about = '' } = item.pod;
  const [name, words] = [printable(formatPod(pod)), printable(about)];
  const hasName = row.text.includes(printable(pod.name));
  const hasAbout = row.text.endsWith(words) && cellWidth(row.text) <= columns;
  if (hasName && hasAbout) return [];
  return [{ text: words === '' ? name : `${hasName ? pod.name : name}: ${words}`, style: 'dim' }];
}

function footRow(view: PodListView, message: string | undefined): Row {
  const { filter, isTyping, grouping } = view;
  if (isTyping) return { text: `/${filter}▏`, style: 'title' };
  if (message !== undefined) return { text: message, style: 'title' };
  const filtered = filter === '' ? '' : `filter: ${filter} (Esc drops it)  `;
  const grouped = grouping === 'auto' ? '' : `group: ${grouping}  `;
  return { text: filtered + grouped + KEYS, style: 'dim' };
}
