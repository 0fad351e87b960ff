import { type KubeObject } from '#kube/columns/kube-object.js';
import { findTypeOfKind, qualifiedName, type ResourceType } from '../api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { runTemplate } from '../jsonpath/run-template.js';
import { CustomTable } from './custom-columns.js';
import { ObjectTable } from './object-table.js';
import { toJsonText, toYamlText } from './object-text.js';
import { type OutputFormat } from './output-format.js';
import { escapeTerminal } from './terminal-text.js';

/** The flags that say how objects are shown. */
export interface PrintFlags {
  readonly allNamespaces: boolean;
  readonly headers: boolean;
  readonly showLabels: boolean;
  readonly showKind: boolean;
  readonly labelColumns: readonly string[];
  readonly allowMissingTemplateKeys: boolean;
}

/** What an {@link ObjectPrinter} needs. */
export interface ObjectPrinterOptions {
  readonly format: OutputFormat;
  readonly flags: PrintFlags;
  readonly type: ResourceType;
  readonly host: Pick<CliHost, 'stdout' | 'clock'>;
  /** Whether objects of other kinds are printed as well. */
  readonly severalKinds: boolean;
  /** What happened, for `--output-watch-events`: a column in front, or around each object. */
  readonly withEvents?: boolean;
}

/** Prints objects of one kind in the form that was asked for, all at once or as they come. */
export class ObjectPrinter {
  readonly #options: ObjectPrinterOptions;
  readonly #table: ObjectTable;
  readonly #custom: CustomTable;
  #documents = 0;

  constructor(options: ObjectPrinterOptions) {
    this.#options = options;
    const { format, flags, type, severalKinds } = options;
    const { headers, showLabels, labelColumns, allNamespaces, showKind } = flags;
    this.#table = new ObjectTable({
      resource: type.plural,
      wide: format.kind === 'table' && format.wide,
      withNamespace: allNamespaces && type.namespaced,
      kindPrefix: severalKinds || showKind ? qualifiedName(type) : '',
      noHeaders: !headers,
      ...{ showLabels, labelColumns },
      withEvents: options.withEvents === true,
    });
    this.#custom = new CustomTable(format.kind === 'columns' ? format.columns : [], !headers);
  }

  /** Prints these objects one after the other. `event` says what happened to them, where that is shown. */
  async print(objects: readonly KubeObject[], event?: string): Promise<void> {
    const { host, format, type } = this.#options;
    switch (format.kind) {
      case 'table':
        for (const line of this.#table.add(objects, host.clock.now(), event))
          await host.stdout.writeLine(line);
        return;
      case 'columns':
        for (const line of this.#custom.add(this.#wrap(objects, event))) await host.stdout.writeLine(line);
        return;
      case 'name':
        for (const object of objects) await host.stdout.writeLine(nameOf(object, type));
        return;
      default:
        for (const object of this.#wrap(objects, event)) await this.#printWhole(object, format);
    }
  }

  /** Prints all as one list, for formats that show objects whole; else as {@link print}. */
  async printList(objects: readonly KubeObject[]): Promise<void> {
    const { format } = this.#options;
    if (format.kind !== 'json' && format.kind !== 'yaml' && format.kind !== 'jsonpath')
      return this.print(objects);
    const list = { apiVersion: 'v1', items: objects, kind: 'List', metadata: { resourceVersion: '' } };
    await this.#printWhole(list, format);
  }

  async #printWhole(object: KubeObject, format: OutputFormat): Promise<void> {
    const { stdout } = this.#options.host;
    if (format.kind === 'json') await stdout.writeLine(toJsonText(object));
    else if (format.kind === 'yaml') {
      if (this.#documents++ > 0) await stdout.writeLine('---');
      await stdout.writeLine(toYamlText(object));
    } else if (format.kind === 'jsonpath') await stdout.write(this.#fill(object, format));
  }

  #fill(object: KubeObject, { template, text }: OutputFormat & { kind: 'jsonpath' }): string {
    try {
      const { allowMissingTemplateKeys: allowMissingKeys } = this.#options.flags;
      return runTemplate(template, object, { allowMissingKeys });
    } catch (error) {
      const { message } = error as Error;
      throw failure(
        `error executing jsonpath ${JSON.stringify(text)}: Error executing template: ${message}.`,
      );
    }
  }

  #wrap(objects: readonly KubeObject[], event: string | undefined): readonly KubeObject[] {
    if (event === undefined || this.#options.withEvents !== true) return objects;
    return objects.map((object) => ({ type: event, object }) as KubeObject);
  }
}

/** `pod/web`. */
function nameOf(object: KubeObject, type: ResourceType): string {
  const kind = qualifiedName(findTypeOfKind(object.kind ?? '') ?? type);
  return `${kind}/${escapeTerminal(object.metadata?.name ?? '')}`;
}
