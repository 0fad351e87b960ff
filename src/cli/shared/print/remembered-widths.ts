import { textWidth } from '../screen/screen-text.js';
import { TABLE_LAYOUT } from './tab-columns.js';

/** The widths of a table's columns, which grow with its rows and never shrink, so that later rows stand below. */
export class RememberedWidths {
  readonly #widths: number[] = [];

  /** The rows as lines. The last cell of a row is never padded. */
  layOut(rows: readonly (readonly string[])[]): string[] {
    for (const row of rows) this.#widen(row);
    return rows.map((row) => this.#pad(row));
  }

  #widen(row: readonly string[]): void {
    const { minWidth, padding } = TABLE_LAYOUT;
    for (const [at, cell] of row.slice(0, -1).entries()) {
      this.#widths[at] = Math.max(this.#widths[at] ?? minWidth, textWidth(cell) + padding);
    }
  }

  #pad(row: readonly string[]): string {
    const last = row.length - 1;
    const space = (cell: string, at: number): string => ' '.repeat((this.#widths[at] ?? 0) - textWidth(cell));
    return row.map((cell, at) => (at === last ? cell : cell + space(cell, at))).join('');
  }
}
