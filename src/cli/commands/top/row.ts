import { cut, printable } from '../../shared/screen/screen-text.js';

/** What a row looks like where the terminal can show it. */
export type RowStyle = 'title' | 'header' | 'warning' | 'unhealthy' | 'dim';

/** One row of the screen. */
export interface Row {
  readonly text: string;
  readonly style?: RowStyle;
}

const RESET = '\x1b[0m';
const PLAIN_STYLES: Readonly<Record<RowStyle, string>> = {
  ...{ title: '\x1b[1m', header: '\x1b[7m', warning: '\x1b[1m', unhealthy: '\x1b[1;7m', dim: '' },
};
const COLOR_STYLES: Readonly<Record<RowStyle, string>> = {
  ...PLAIN_STYLES,
  ...{ warning: '\x1b[33m', unhealthy: '\x1b[1;31m', dim: '\x1b[2m' },
};

/** The rows in at most so many characters each, with nothing in them that commands a terminal but their style. */
export function paintRows(
  rows: readonly Row[],
  { columns, withColor }: { readonly columns: number; readonly withColor: boolean },
): string[] {
  const styles = withColor ? COLOR_STYLES : PLAIN_STYLES;
  return rows.map(({ text, style }) => {
    const fitting = cut(printable(text), columns);
    const begin = style === undefined ? '' : styles[style];
    return begin === '' || fitting === '' ? fitting : `${begin}${fitting}${RESET}`;
  });
}

/** The rows as plain lines of any length. */
export function plainRows(rows: readonly Row[]): string[] {
  return rows.map(({ text }) => printable(text).trimEnd());
}
