import { type AgentSession } from '../agent-session.js';
import { type Query } from './agent-client.js';
import { ApiError } from './api-status.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type ObjectSelection } from './object-selection.js';
import { pathOf, PODS, type ResourceType } from './resource-type.js';
import { readStoppedPods } from '../pods/read-stopped-pods.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { type GetFlags } from './get-flags.js';
import { ObjectPrinter } from '../print/object-printer.js';
import { type OutputFormat } from '../print/output-format.js';
import { sortObjects } from '../print/sort-objects.js';

/** What a {@link GetRequest} is made of. */
export interface GetRequestOptions {
  readonly selection: ObjectSelection;
  readonly flags: GetFlags;
  readonly format: OutputFormat;
  readonly session: AgentSession;
  readonly host: CliHost;
}

/** Objects of one kind. */
interface Found {
  readonly type: ResourceType;
  readonly objects: readonly KubeObject[];
}

/** One look at the objects that were asked for, and their output. */
export class GetRequest {
  readonly #options: GetRequestOptions;
  readonly #failures: ApiError[] = [];

  constructor(options: GetRequestOptions) {
    this.#options = options;
  }

  /** Rejects with a CommandFailure that has a line for each object that is missing, when the others are printed. */
  async run(): Promise<void> {
    const { selection, format, flags } = this.#options;
    const found = selection.names.length > 0 ? await this.#getNamed() : await this.#getLists();
    const sorted = flags.sortBy === undefined ? found : sortAll(found, flags.sortBy);
    if (format.kind === 'table') await this.#printTables(sorted);
    else await this.#printWhole(sorted);
    if (this.#failures.length > 0) throw new CommandFailure(this.#failures.flatMap(({ lines }) => lines));
  }

  async #getNamed(): Promise<Found[]> {
    const { selection, flags } = this.#options;
    const found: { type: ResourceType; objects: KubeObject[] }[] = [];
    for (const { type, name } of selection.names) {
      try {
        const object = await this.#client.get(pathOf(type, this.#namespace, name));
        const group = found.find((one) => one.type === type);
        if (group === undefined) found.push({ type, objects: [object] });
        else group.objects.push(object);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.reason !== 'NotFound' || !flags.ignoreNotFound) this.#failures.push(error);
      }
    }
    return found;
  }

  async #getLists(): Promise<Found[]> {
    const found: Found[] = [];
    for (const type of this.#options.selection.types) {
      const list = await this.#client.get(pathOf(type, this.#namespace), selectorQuery(this.#options.flags));
      found.push({ type, objects: withKinds(list) });
    }
    return found;
  }

  async #printTables(found: readonly Found[]): Promise<void> {
    const { format, flags, host, selection, session } = this.#options;
    const shown = found.filter(({ objects }) => objects.length > 0);
    const severalKinds = selection.types.length > 1 || selection.isGroup === true;
    for (const [at, { type, objects }] of shown.entries()) {
      if (at > 0) await host.stdout.writeLine('');
      const printer = new ObjectPrinter({ format, flags, type, host, severalKinds });
      await printer.print(objects);
    }
    if (shown.length > 0 || this.#failures.length > 0 || flags.ignoreNotFound) return;
    await host.stderr.writeLine(describeNothing(selection, flags.allNamespaces, session.namespace));
    const hasSelector = flags.selector !== undefined || flags.fieldSelector !== undefined;
    if (!selection.types.includes(PODS) || hasSelector) return;
    const stopped = (await readStoppedPods(session.client)).filter(
      ({ metadata = {} }) => flags.allNamespaces || metadata.namespace === session.namespace,
    );
    if (stopped.length > 0) await host.stderr.writeLine(describeStopped(stopped.length));
  }

  /** What a program reads: one object, or all in one list. */
  async #printWhole(found: readonly Found[]): Promise<void> {
    const { format, flags, host, selection } = this.#options;
    const objects = found.flatMap((one) => one.objects);
    const single = selection.names.length === 1;
    if (objects.length === 0 && (single || this.#failures.length > 0 || flags.ignoreNotFound)) return;
    const type = found[0]?.type ?? selection.types[0]!;
    const printer = new ObjectPrinter({
      format,
      flags,
      type,
      host,
      severalKinds: selection.types.length > 1,
    });
    await (single ? printer.print(objects) : printer.printList(objects));
  }

  get #client(): AgentSession['client'] {
    return this.#options.session.client;
  }

  get #namespace(): string | undefined {
    return this.#options.flags.allNamespaces ? undefined : this.#options.session.namespace;
  }
}

/** The query that the selectors of the flags make. */
export function selectorQuery({
  selector,
  fieldSelector,
}: Pick<GetFlags, 'selector' | 'fieldSelector'>): Query {
  return { labelSelector: selector, fieldSelector };
}

/** The objects of a list, each with the kind that the list says it has. */
export function withKinds({ items = [], kind = '', apiVersion = 'v1' }: KubeObject): KubeObject[] {
  return items.map((item) => ({ apiVersion, kind: kind.replace(/List$/, ''), ...item }));
}

/** What is said on standard error when there is nothing to show. */
export function describeNothing(
  selection: ObjectSelection,
  allNamespaces: boolean,
  namespace: string,
): string {
  const namespaced = selection.types.every((type) => type.namespaced);
  return namespaced && !allNamespaces
    ? `No resources found in ${namespace} namespace.`
    : 'No resources found';
}

function describeStopped(count: number): string {
  const pods = count === 1 ? '1 pod is' : `${count} pods are`;
  return `${pods} stopped; "podloop start" without a name lists them.`;
}

function sortAll(found: readonly Found[], field: string): Found[] {
  return found.map(({ type, objects }) => ({ type, objects: sortObjects(objects, field) }));
}
