import { cellWidth, cutCells } from './cell-text.js';
import { printable } from './screen-text.js';

/** What a row, or a part of one, looks like where the terminal can show it. */
export type RowStyle = 'title' | 'header' | 'good' | 'warning' | 'unhealthy' | 'dim' | 'selected' | 'match';

/** A part of a row that looks different: from one index of its text up to another. */
export interface Mark {
  readonly begin: number;
  readonly end: number;
  readonly style: RowStyle;
}

/** One row of the screen. */
export interface Row {
  readonly text: string;
  readonly style?: RowStyle;
  /** In order, none above another; the text has to be printable. */
  readonly marks?: readonly Mark[];
}

const RESET = '\x1b[0m';
const PLAIN_STYLES: Readonly<Record<RowStyle, string>> = {
  ...{ title: '\x1b[1m', header: '\x1b[7m', warning: '\x1b[1m', unhealthy: '\x1b[1;7m', dim: '' },
  ...{ good: '', selected: '\x1b[7m', match: '\x1b[7m' },
};
const COLOR_STYLES: Readonly<Record<RowStyle, string>> = {
  ...PLAIN_STYLES,
  ...{ warning: '\x1b[33m', unhealthy: '\x1b[1;31m', dim: '\x1b[2m', good: '\x1b[32m' },
};

/** Whether rows may have colours, by `NO_COLOR` of the environment. */
export function allowsColor(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['NO_COLOR'] ?? '') === '';
}

/** The rows in at most so many cells each, with nothing in them that commands a terminal but their style. */
export function paintRows(
  rows: readonly Row[],
  { columns, withColor }: { readonly columns: number; readonly withColor: boolean },
): string[] {
  const styles = withColor ? COLOR_STYLES : PLAIN_STYLES;
  return rows.map(({ text, style, marks = [] }) => {
    const fitting = cutCells(printable(text), columns);
    if (style === 'selected' || style === 'header') {
      return `${styles[style]}${fitting}${' '.repeat(Math.max(0, columns - cellWidth(fitting)))}${RESET}`;
    }
    if (marks.length > 0) return paintMarks(fitting, marks, styles);
    const begin = style === undefined ? '' : styles[style];
    return begin === '' || fitting === '' ? fitting : `${begin}${fitting}${RESET}`;
  });
}

function paintMarks(
  text: string,
  marks: readonly Mark[],
  styles: Readonly<Record<RowStyle, string>>,
): string {
  let painted = '';
  let at = 0;
  for (const { begin, end, style } of marks) {
    const part = text.slice(begin, end);
    painted +=
      text.slice(at, begin) + (part === '' || styles[style] === '' ? part : styles[style] + part + RESET);
    at = Math.max(at, Math.min(end, text.length));
  }
  return painted + text.slice(at);
}

/** The rows as plain lines of any length. */
export function plainRows(rows: readonly Row[]): string[] {
  return rows.map(({ text }) => printable(text).trimEnd());
}
