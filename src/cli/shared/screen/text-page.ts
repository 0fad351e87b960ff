import { cellWidth, wrapCells, wrapWords } from './cell-text.js';
import { type Key } from './keys.js';
import { typeText } from './pod-list.js';
import { type Mark, type Row, type RowStyle } from './row.js';
import { printable, type ScreenSize } from './screen-text.js';

/** A line of a page; its style is that of all rows that it takes. */
export interface PageLine {
  readonly text: string;
  readonly style?: RowStyle;
  /** It is prose: its rows are broken between words, and all but the first begin in this column (default: anywhere). */
  readonly indent?: number;
}

/** How somebody reads a page of text. Immutable. */
export interface PageView {
  /** The first row that is shown; Infinity: the last ones, whatever comes. */
  readonly top: number;
  readonly search: string;
  /** The text to search for is being typed. */
  readonly isTyping: boolean;
}

/** The page at its begin, and one at its end that stays there. */
export const AT_BEGIN: PageView = { top: 0, search: '', isTyping: false };
export const AT_END: PageView = { ...AT_BEGIN, top: Infinity };

/** The help for the keys of a page, one row each. */
export const PAGE_KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['↑ ↓ j k', 'scroll; PgUp PgDn Space by a screen, g G to begin and end'],
  ['/', 'search; n N the next and the one before'],
  ['c', 'with logs: the next container'],
  ['p', 'with logs: those from before the last restart, and back'],
  ['q Esc ←', 'back'],
];

/** The rows of a page, and where in it they are. */
export interface PageRows {
  readonly rows: readonly Row[];
  /** As `12-30 of 200`. */
  readonly place: string;
}

/** What a key makes of a page; `back` leaves it, `undefined` for keys that are not of the page. Pure. */
export function pressPageKey(
  view: PageView,
  key: Key,
  { lines, size }: { readonly lines: readonly PageLine[]; readonly size: ScreenSize },
): PageView | 'back' | undefined {
  if (view.isTyping) {
    if (key === 'escape') return { ...view, isTyping: false, search: '' };
    if (key === 'enter') return findNext({ ...view, isTyping: false }, lines, size, 0);
    return { ...view, search: typeText(view.search, key) };
  }
  const rows = wrap(lines, size.columns);
  const last = Math.max(0, rows.length - size.rows);
  const top = Math.min(view.top, last);
  const page = Math.max(1, size.rows - 1);
  // At the end what comes is followed.
  const to = (next: number): PageView => ({
    ...view,
    top: next >= last && next > top ? Infinity : Math.max(0, next),
  });
  switch (key) {
    case 'q':
    case 'Q':
    case 'escape':
    case 'left':
      return 'back';
    case 'up':
    case 'k':
      return to(top - 1);
    case 'down':
    case 'j':
    case 'enter':
      return to(top + 1);
    case 'page-up':
    case 'b':
      return to(top - page);
    case 'page-down':
    case ' ':
      return to(top + page);
    case 'home':
    case 'g':
      return { ...view, top: 0 };
    case 'end':
    case 'G':
      return { ...view, top: Infinity };
    case '/':
      return { ...view, isTyping: true, search: '' };
    case 'n':
      return findNext(view, lines, size, 1);
    case 'N':
      return findNext(view, lines, size, -1);
    default:
      return undefined;
  }
}

/** The rows that are seen of a page. Pure. */
export function pageRows(lines: readonly PageLine[], view: PageView, size: ScreenSize): PageRows {
  const all = wrap(lines, size.columns);
  const top = Math.max(0, Math.min(view.top, all.length - size.rows));
  const shown = all.slice(top, top + size.rows);
  const rows = shown.map(({ text, style }): Row => {
    const marks = view.search === '' ? [] : marksOf(text, view.search);
    return { text, ...(style === undefined ? {} : { style }), ...(marks.length === 0 ? {} : { marks }) };
  });
  return { rows, place: `${shown.length === 0 ? 0 : top + 1}-${top + shown.length} of ${all.length}` };
}

function wrap(lines: readonly PageLine[], columns: number): PageLine[] {
  const width = Math.max(1, columns);
  return lines.flatMap((line) => {
    const text = printable(line.text);
    if (text.length <= width && cellWidth(text) <= width) return [{ ...line, text }];
    const parts = line.indent === undefined ? wrapCells(text, width) : wrapWords(text, width, line.indent);
    return parts.map((part) => ({ ...line, text: part }));
  });
}

/** Goes to the next row with the text: from the first that is seen on, or behind or before it; the view of now if there is none. */
function findNext(
  view: PageView,
  lines: readonly PageLine[],
  size: ScreenSize,
  direction: -1 | 0 | 1,
): PageView {
  if (view.search === '') return view;
  const rows = wrap(lines, size.columns);
  const last = Math.max(0, rows.length - size.rows);
  const from = Math.min(view.top, last);
  const wanted = view.search.toLowerCase();
  const step = direction === 0 ? 1 : direction;
  for (let count = 0; count < rows.length; count++) {
    const at = (((from + direction + count * step) % rows.length) + rows.length) % rows.length;
    if (rows[at]!.text.toLowerCase().includes(wanted)) return { ...view, top: at };
  }
  return view;
}

function marksOf(text: string, search: string): Mark[] {
  const [lower, wanted] = [text.toLowerCase(), search.toLowerCase()];
  // Some characters have another length in lower case.
  if (lower.length !== text.length) return [];
  const marks: Mark[] = [];
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
    marks.push({ begin: at, end: at + wanted.length, style: 'match' });
  }
  return marks;
}
