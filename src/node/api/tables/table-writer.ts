import { type KubeObject, type ObjectMetadata } from '#kube/columns/kube-object.js';
import { columnsOf, type ResourceColumns } from '#kube/columns/resource-columns.js';
import { type Clock } from '#base/time/clock.js';
import { type TableForm } from './read-table-form.js';

/** What a {@link TableWriter} needs. */
export interface TableWriterOptions {
  /** The plural name of its objects. */
  readonly resource: string;
  readonly form: TableForm;
  readonly clock: Pick<Clock, 'now'>;
}

/** One column as a Table describes it. */
interface ColumnDefinition {
  readonly name: string;
  readonly type: 'string';
  /** `name`: the object's name, which kubectl prefixes with the kind if there are several. */
  readonly format: 'name' | '';
  readonly description: string;
  /** 0: always shown; 1: in wide tables. */
  readonly priority: 0 | 1;
}

/**
 * Writes objects of one kind as Tables of kubectl's columns, each on one line.
 *
 * Source: `Table` of meta.k8s.io/v1
 */
export class TableWriter {
  readonly #options: TableWriterOptions;
  readonly #columns: ResourceColumns;
  /** A watch sends its columns once. */
  #described = false;

  constructor(options: TableWriterOptions) {
    this.#options = options;
    this.#columns = columnsOf(options.resource);
  }

  /** A Table of all of them, piece by piece: a row is rendered when it is requested. */
  *list(objects: Iterable<KubeObject>, metadata: ObjectMetadata): Generator<string, void, undefined> {
    yield `${this.#head(metadata)},"rows":[`;
    let comma = '';
    for (const object of objects) {
      yield comma + this.#row(object);
      comma = ',';
    }
    yield ']}';
  }

  /** A Table of one. */
  one(object: KubeObject): string {
    const { resourceVersion } = object.metadata ?? {};
    const metadata = resourceVersion === undefined ? {} : { resourceVersion };
    return [...this.list([object], metadata)].join('');
  }

  /** A Table without rows, for what only has a version. */
  none(metadata: ObjectMetadata): string {
    return [...this.list([], metadata)].join('');
  }

  /** Everything but its last brace. */
  #head(metadata: ObjectMetadata): string {
    const { version } = this.#options.form;
    const columnDefinitions = this.#described ? null : this.#describe();
    this.#described = true;
    const head = { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions };
    return JSON.stringify(head).slice(0, -1);
  }

  #describe(): ColumnDefinition[] {
    const { names, wide } = this.#columns;
    const describe = (name: string, priority: 0 | 1): ColumnDefinition => ({
      ...{ name, type: 'string', format: name === 'Name' ? 'name' : '' },
      ...{ description: '', priority },
    });
    return this.#place([...names.map((name) => describe(name, 0)), ...wide.map((name) => describe(name, 1))]);
  }

  #row(object: KubeObject): string {
    const cells = this.#place(this.#columns.row(object, this.#options.clock.now()));
    const { objects, version } = this.#options.form;
    if (objects === 'None') return JSON.stringify({ cells });
    if (objects === 'Object') return JSON.stringify({ cells, object });
    const apiVersion = `meta.k8s.io/${version}`;
    const { metadata } = object;
    return JSON.stringify({ cells, object: { kind: 'PartialObjectMetadata', apiVersion, metadata } });
  }

  #place<T>(all: readonly T[]): T[] {
    return this.#columns.widePlaces?.map((at) => all[at]!) ?? [...all];
  }
}
