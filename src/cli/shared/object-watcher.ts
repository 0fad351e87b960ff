import { ApiError } from './api/api-status.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { pathOf } from './api/resource-type.js';
import { watchObjects } from './api/watch-objects.js';
import { failure } from '../command-failure.js';
import { type GetRequestOptions, selectorQuery, withKinds } from './api/get-request.js';
import { ObjectPrinter } from './print/object-printer.js';
import { sortObjects } from './print/sort-objects.js';

/** `get --watch`: prints the objects, then a row or an object for each change, until it is interrupted. */
export class ObjectWatcher {
  readonly #options: GetRequestOptions;
  /** The version that was last shown of each object, by uid. */
  readonly #shown = new Map<string, string>();

  constructor(options: GetRequestOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { selection, flags, format, session, host } = this.#options;
    const [type, other] = selection.types;
    if (type === undefined || other !== undefined || selection.names.length > 1) {
      throw failure('you may only specify a single resource type');
    }
    const namespace = flags.allNamespaces ? undefined : session.namespace;
    const named = selection.names[0]?.name;
    const path = pathOf(type, namespace);
    const name = named === undefined ? undefined : await this.#findName(pathOf(type, namespace, named));
    if (named !== undefined && name === undefined) return;
    const query = name === undefined ? selectorQuery(flags) : { fieldSelector: `metadata.name=${name}` };
    const list = await session.client.get(path, query);
    const withEvents = flags.outputWatchEvents;
    const severalKinds = selection.isGroup === true;
    const printer = new ObjectPrinter({ format, flags, type, host, severalKinds, withEvents });
    const present = withKinds(list);
    for (const object of present) this.#isNew(object);
    if (!flags.watchOnly && present.length > 0) {
      await printer.print(flags.sortBy === undefined ? present : sortObjects(present, flags.sortBy), 'ADDED');
    }
    const resourceVersion = list.metadata?.resourceVersion;
    const { signal } = session;
    for await (const event of watchObjects(session.client, path, { query: { ...query, resourceVersion } })) {
      if (signal.aborted) return;
      const object = { apiVersion: 'v1', kind: type.kind, ...event.object };
      // The events at the start of a watch repeat the list.
      if (!this.#isNew(object) && event.type === 'ADDED') continue;
      await printer.print([object], event.type);
      if (event.type === 'DELETED') this.#shown.delete(idOf(object));
    }
  }

  /** The name that the object has on its node; undefined when it is not there, and that is no error. */
  async #findName(path: string): Promise<string | undefined> {
    try {
      const { metadata } = await this.#options.session.client.get(path);
      return metadata?.name;
    } catch (error) {
      const ignored = this.#options.flags.ignoreNotFound;
      if (ignored && error instanceof ApiError && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  #isNew({ metadata = {} }: KubeObject): boolean {
    const id = idOf({ metadata });
    const { resourceVersion = '' } = metadata;
    if (this.#shown.get(id) === resourceVersion) return false;
    this.#shown.set(id, resourceVersion);
    return true;
  }
}

function idOf({ metadata = {} }: KubeObject): string {
  return metadata.uid ?? `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
