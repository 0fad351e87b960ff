import { type KubeObject } from '#kube/columns/kube-object.js';
import { parseTemplate, relaxTemplate } from '../jsonpath/parse-template.js';
import { PathError, type TemplatePart } from '../jsonpath/path-node.js';
import { findResults } from '../jsonpath/run-template.js';
import { RememberedWidths } from './remembered-widths.js';
import { toCell } from './terminal-text.js';

/** A column that somebody asked for. */
export interface CustomColumn {
  readonly header: string;
  readonly template: readonly TemplatePart[];
}

/** Reads `NAME:.metadata.name,IMAGE:.spec.containers[*].image`. Throws {@link PathError}. */
export function parseCustomColumns(spec: string): CustomColumn[] {
  if (spec === '') throw new PathError('custom-columns format specified but no custom columns given');
  return spec.split(',').map((part) => {
    const colon = part.indexOf(':');
    if (colon < 0) {
      throw new PathError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`);
    }
    return toColumn(part.slice(0, colon), part.slice(colon + 1));
  });
}

/** Reads a file of two lines: headers, and below them paths. Throws {@link PathError}. */
export function parseColumnsFile(text: string): CustomColumn[] {
  const [headers, specs] = text.split('\n').map((line) => line.split(/\s+/).filter((word) => word !== ''));
  const form =
    'Expected format is one line of space separated headers, one line of space separated column specs.';
  if (headers === undefined || text === '')
    throw new PathError(`invalid template, missing header line. ${form}`);
  if (specs === undefined) throw new PathError(`invalid template, missing spec line. ${form}`);
  if (headers.length !== specs.length) {
    throw new PathError(
      `number of headers (${headers.length}) and field specifications (${specs.length}) don't match`,
    );
  }
  return headers.map((header, at) => toColumn(header, specs[at]!));
}

function toColumn(header: string, spec: string): CustomColumn {
  return { header, template: parseTemplate(relaxTemplate(spec)) };
}

/** A table of the columns that somebody asked for; rows may be added later, the header comes with the first ones. */
export class CustomTable {
  readonly #columns: readonly CustomColumn[];
  readonly #noHeaders: boolean;
  readonly #widths = new RememberedWidths();
  #begun = false;

  constructor(columns: readonly CustomColumn[], noHeaders: boolean) {
    this.#columns = columns;
    this.#noHeaders = noHeaders;
  }

  /** Throws {@link PathError} when a path does not fit an object. */
  add(objects: readonly KubeObject[]): string[] {
    const rows = objects.map((object) => this.#columns.map((column) => cellOf(column, object)));
    if (!this.#begun && !this.#noHeaders) rows.unshift(this.#columns.map(({ header }) => header));
    this.#begun = true;
    return this.#widths.layOut(rows);
  }
}

function cellOf({ template }: CustomColumn, object: KubeObject): string {
  const results = findResults(template, object, { allowMissingKeys: true });
  const values = results.flat().map((value) => toCell(toGoText(value)));
  return (results[0] ?? []).length === 0 ? ['<none>', ...values].join(',') : values.join(',');
}

/** A value as Go's fmt.Sprint prints what JSON holds: `map[a:1 b:2]`, `[x y]`, `<nil>`. */
function toGoText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map((one) => toGoText(one)).join(' ')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${entries.map(([key, one]) => `${key}:${toGoText(one)}`).join(' ')}]`;
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
