import { pad, textWidth } from '../screen/screen-text.js';
import { toCell } from './terminal-text.js';

/** How columns are laid out. */
export interface TabLayout {
  /** The least a column takes, space behind it included. */
  readonly minWidth: number;
  /** Spaces between a cell and the next column, at least. */
  readonly padding: number;
}

/** As kubectl lays out tables. */
export const TABLE_LAYOUT: TabLayout = { minWidth: 6, padding: 3 };
/** As kubectl lays out what it describes. */
export const DESCRIBE_LAYOUT: TabLayout = { minWidth: 0, padding: 2 };

/**
 * Lays out lines of cells that are separated by tabs, one under the other, the way Go's text/tabwriter does.
 *
 * A column is as wide as the cells need that follow each other line by line: a line without a cell in it ends the
 * column. The last cell of a line belongs to no column, so it is never padded and widens nothing.
 */
export function layOutTabs(lines: readonly string[], layout: TabLayout): string[] {
  const rows = lines.map((line) => line.split('\t'));
  const output: string[] = [];
  layOut(rows, { from: 0, to: rows.length, widths: [] }, layout, output);
  return output;
}

/** Lays out rows of cells as kubectl lays out tables; the first one is mostly that of the headings. */
export function layOutTable(rows: readonly (readonly string[])[]): string[] {
  return layOutTabs(
    rows.map((row) => row.map(toCell).join('\t')),
    TABLE_LAYOUT,
  );
}

interface Block {
  readonly from: number;
  readonly to: number;
  /** Of the columns to the left, which hold for the whole block. */
  readonly widths: readonly number[];
}

type Rows = readonly (readonly string[])[];

function layOut(rows: Rows, { from, to, widths }: Block, layout: TabLayout, output: string[]): void {
  const column = widths.length;
  const hasColumn = (at: number): boolean => column < rows[at]!.length - 1;
  const write = (at: number): void => void output.push(padRow(rows[at]!, widths));
  let at = from;
  while (at < to) {
    if (!hasColumn(at)) {
      write(at++);
      continue;
    }
    const begin = at;
    let width = layout.minWidth;
    for (; at < to && hasColumn(at); at++) {
      width = Math.max(width, textWidth(rows[at]![column]!) + layout.padding);
    }
    layOut(rows, { from: begin, to: at, widths: [...widths, width] }, layout, output);
  }
}

function padRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, at) => {
    const width = at < row.length - 1 ? widths[at] : undefined;
    return width === undefined ? cell : pad(cell, width);
  });
  return cells.join('');
}
