import { type KubeObject } from '#kube/columns/kube-object.js';
import { columnsOf, type ResourceColumns } from '#kube/columns/resource-columns.js';
import { RememberedWidths } from './remembered-widths.js';
import { toCell } from './terminal-text.js';

/** How a table is shown. */
export interface ObjectTableOptions {
  /** The plural name of what it shows. */
  readonly resource: string;
  readonly wide: boolean;
  /** A column with the namespace in front. */
  readonly withNamespace: boolean;
  /** `pod/` in front of each name, for tables of several kinds. */
  readonly kindPrefix?: string;
  readonly noHeaders: boolean;
  readonly showLabels: boolean;
  /** Labels with a column of their own. */
  readonly labelColumns: readonly string[];
  /** A column in front that says what happened. */
  readonly withEvents?: boolean;
}

/**
 * The table of one kind of object, as kubectl prints it; rows may be added to it later, for `--watch`.
 *
 * Columns keep the width that they once had, and the header comes with the first rows only.
 */
export class ObjectTable {
  readonly #options: ObjectTableOptions;
  readonly #columns: ResourceColumns;
  readonly #widths = new RememberedWidths();
  #begun = false;

  constructor(options: ObjectTableOptions) {
    this.#options = options;
    this.#columns = columnsOf(options.resource);
  }

  /** The lines of these objects, with the header in front the first time; `event` is what happened to them. */
  add(objects: readonly KubeObject[], nowMs: number, event = ''): string[] {
    const front = this.#options.withEvents === true ? [event] : [];
    const rows = objects.map((object) => [...front, ...this.#row(object, nowMs)]);
    if (!this.#begun && !this.#options.noHeaders) rows.unshift(this.#header());
    this.#begun = true;
    return this.#widths.layOut(rows.map((row) => row.map((cell) => toCell(cell))));
  }

  #header(): string[] {
    const { wide, withNamespace, labelColumns, showLabels } = this.#options;
    const names = wide ? this.#place([...this.#columns.names, ...this.#columns.wide]) : this.#columns.names;
    return [
      ...(this.#options.withEvents === true ? ['EVENT'] : []),
      ...(withNamespace ? ['NAMESPACE'] : []),
      ...names.map((name) => name.toUpperCase()),
      ...labelColumns.map((label) => label.split('/').at(-1)!.toUpperCase()),
      ...(showLabels ? ['LABELS'] : []),
    ];
  }

  #row(object: KubeObject, nowMs: number): string[] {
    const { wide, withNamespace, kindPrefix = '', labelColumns, showLabels } = this.#options;
    const { names, row } = this.#columns;
    const all = row(object, nowMs);
    const cells = [...(wide ? this.#place(all) : all.slice(0, names.length))];
    const nameAt = names.indexOf('Name');
    if (nameAt >= 0 && kindPrefix !== '') cells[nameAt] = `${kindPrefix}/${cells[nameAt] ?? ''}`;
    const { namespace = '', labels = {} } = object.metadata ?? {};
    return [
      ...(withNamespace ? [namespace] : []),
      ...cells,
      ...labelColumns.map((label) => labels[label] ?? ''),
      ...(showLabels ? [formatLabels(labels)] : []),
    ];
  }

  #place(cells: readonly string[]): readonly string[] {
    return this.#columns.widePlaces?.map((at) => cells[at] ?? '') ?? cells;
  }
}

/** `a=1,b=2`, sorted; `<none>` for no labels. */
function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}
