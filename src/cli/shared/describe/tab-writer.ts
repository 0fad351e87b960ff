import { DESCRIBE_LAYOUT, layOutTabs } from '../print/tab-columns.js';
import { escapeTerminal } from '../print/terminal-text.js';

/** Gathers indented lines of cells and lays them out as `kubectl describe` does. */
export class TabWriter {
  readonly #blocks: string[][] = [[]];

  /** A line, `level` times two spaces in; cells are separated by tabs. */
  line(level: number, text: string): void {
    this.#blocks.at(-1)!.push('  '.repeat(level) + text);
  }

  /** A name and what it is, one line. */
  field(level: number, name: string, value: string | number): void {
    this.line(level, `${name}:\t${cell(value)}`);
  }

  /** What follows is laid out apart from what was before. */
  flush(): void {
    this.#blocks.push([]);
  }

  /** The lines, laid out. */
  lines(): string[] {
    return this.#blocks.flatMap((block) => layOutTabs(block, DESCRIBE_LAYOUT));
  }
}

/** Text from elsewhere as one cell: nothing in it begins a column or a line. */
export function cell(value: string | number): string {
  return escapeTerminal(String(value)).replaceAll(/[\t\n]/g, ' ');
}
