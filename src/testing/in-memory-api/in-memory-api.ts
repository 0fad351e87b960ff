/**
 * An API server as far as the parts of a node need one, in memory and driven by a test: no real one, and no proof of how
 * a real one behaves (test/cluster is there for that).
 *
 * It keeps objects of any kind with uids, resource versions, optimistic concurrency, preconditions and graceful deletion
 * of pods; lists in pages; patches by merge and strategic merge; and its watches can be ended, starved or made too old. All
 * of it can be restored from a backup, as etcd's data are: versions count on from there.
 * It validates nothing and allows everything: defaults, admission and access are left out.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import {
  ApiError,
  type KubeClient,
  type KubeRequest,
  type WatchEvent,
  type WatchRequest,
} from '../../cluster/client/kube-client.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { type Clock } from '#base/time/clock.js';
import { MemoryWatches } from './memory-watches.js';
import { makeSelector } from './select-objects.js';
import { mergePatch, strategicMergePatch } from './strategic-merge.js';
import { type ApiPath, parseApiPath, type StoredMeta, type StoredObject } from './stored-object.js';

/** An object as a test writes it: what it leaves out is filled in. */
export interface ObjectToMake {
  readonly metadata: Partial<StoredMeta> & { readonly generateName?: string };
  readonly [field: string]: unknown;
}

/** All that there was at a time. */
export interface ApiBackup {
  readonly version: number;
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>;
}

interface DeleteOptions {
  /** Text when it stands in the query. */
  readonly gracePeriodSeconds?: number | string;
  readonly preconditions?: { readonly uid?: string };
}

/** See the module's comment. */
export class InMemoryApi implements KubeClient {
  /** Called before each request and watch: what it throws is what the caller gets, what it waits for delays it. */
  intercept: ((request: KubeRequest | WatchRequest) => void | Promise<void>) | undefined;
  /** Answers instead of the server where it gives something else than undefined: for subresources such as `token`. */
  answer: ((request: KubeRequest) => unknown) | undefined;
  /** Requests other than GET, in their order; watches are in {@link watchRequests}. */
  readonly changes: KubeRequest[] = [];
  readonly reads: KubeRequest[] = [];
  readonly watchRequests: WatchRequest[] = [];
  readonly #clock: Pick<Clock, 'now'>;
  readonly #collections = new Map<string, Map<string, StoredObject>>();
  readonly #watches = new MemoryWatches();
  #version = 100;
  #isUp = true;

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock;
  }

  // What a test does.

  /** Puts an object there, made or replaced, without any check. `path` is of the object or its collection. */
  put(path: string, object: ObjectToMake): StoredObject {
    const at = parseApiPath(path);
    const namespace = at.namespace ?? object.metadata.namespace;
    const name =
      at.name ?? object.metadata.name ?? `${object.metadata.generateName ?? 'object-'}${this.#version}`;
    const before = this.#collection(at.collection).get(keyOf(namespace, name));
    const metadata = {
      ...{ uid: before?.metadata.uid ?? randomUUID(), creationTimestamp: toV1Time(this.#clock.now()) },
      ...object.metadata,
      ...{ name, ...(namespace === undefined ? {} : { namespace }) },
    };
    return this.#store(at, before, { ...object, metadata } as unknown as StoredObject);
  }

  /** Changes an object that is there. */
  change(path: string, change: (object: StoredObject) => StoredObject): StoredObject {
    const at = parseApiPath(path);
    const before = this.#get(at);
    return this.#store(at, before, change(structuredClone(before)));
  }

  /** Takes an object away at once, as `kubectl delete --force --grace-period=0` does. */
  drop(path: string): void {
    const at = parseApiPath(path);
    this.#remove(at, this.#get(at));
  }

  /** The object as it is kept now; undefined when there is none. */
  find(path: string): StoredObject | undefined {
    const { collection, namespace, name = '' } = parseApiPath(path);
    return structuredClone(this.#collection(collection).get(keyOf(namespace, name)));
  }

  /** Nobody is answered any more, and what is open breaks. */
  stop(): void {
    this.#isUp = false;
    this.#watches.breakAll(unreachable());
  }

  /** The opposite of {@link stop}. */
  start(): void {
    this.#isUp = true;
  }

  /** Ends all watches as a server does that has had enough of them: without an error. */
  endWatches(): void {
    this.#watches.endAll();
  }

  /** Forgets what was: watches from before now are told 410, those that are open with `isBreaking`, too. */
  compact({ isBreaking = false } = {}): void {
    this.#watches.forgetUntil(this.#version);
    if (isBreaking) this.#watches.breakAll(new ApiError(410, 'Expired', 'too old resource version'));
  }

  /** Tells all watches how far the server is. */
  sendBookmarks(): void {
    this.#watches.bookmark(String(this.#version));
  }

  /** Lets something else happen somewhere: the version goes on. */
  passVersions(count = 1): void {
    this.#version += count;
  }

  /** What {@link restore} takes. */
  backUp(): ApiBackup {
    return { version: this.#version, collections: structuredClone(this.#collections) };
  }

  /** The server is started on a backup: all is as it was then, versions included, and who watches has to come again. */
  restore({ version, collections }: ApiBackup): void {
    this.#version = version;
    this.#collections.clear();
    for (const [path, objects] of structuredClone(collections)) this.#collections.set(path, new Map(objects));
    this.#watches.restart(version, unreachable());
  }

  /** Watches that are open. */
  get openWatches(): number {
    return this.#watches.open;
  }

  get resourceVersion(): string {
    return String(this.#version);
  }

  // What the parts see.

  async request<T>(request: KubeRequest): Promise<T> {
    (request.method === 'GET' ? this.reads : this.changes).push(request);
    await this.#arrive(request);
    const other = await this.answer?.(request);
    return structuredClone(other ?? this.#answer(request)) as T;
  }

  async *watch<T>(request: WatchRequest): AsyncGenerator<WatchEvent<T>, void, undefined> {
    this.watchRequests.push(request);
    await this.#arrive(request);
    const { collection, namespace } = parseApiPath(request.path);
    const matches = makeSelector(request.query);
    yield* this.#watches.follow(
      {
        ...{ collection, sinceVersion: Number(request.query['resourceVersion'] ?? this.#version) },
        matches: (object) => isIn(object, namespace) && matches(object),
      },
      request.signal,
      request.onOpen,
    ) as AsyncGenerator<WatchEvent<T>, void, undefined>;
  }

  async #arrive(request: KubeRequest | WatchRequest): Promise<void> {
    await Promise.resolve();
    this.#checkUp(request.signal);
    await this.intercept?.(request);
    this.#checkUp(request.signal);
  }

  #checkUp(signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    if (!this.#isUp) throw unreachable();
  }

  #answer(request: KubeRequest): unknown {
    const at = parseApiPath(request.path);
    switch (request.method) {
      case 'GET':
        this.#checkReached(request.query);
        return at.name === undefined ? this.#list(at, request.query) : this.#get(at);
      case 'POST':
        return this.#create(at, request.body as ObjectToMake);
      case 'PUT':
        return this.#update(at, request.body as StoredObject);
      case 'PATCH':
        return this.#patch(at, request);
      case 'DELETE':
        return this.#delete(at, { ...request.query, ...(request.body as object) });
    }
  }

  #list({ collection, namespace }: ApiPath, query: Readonly<Record<string, string>> = {}): unknown {
    const place = query['continue'] === undefined ? undefined : readPlace(query['continue']);
    const version = place?.version ?? this.#version;
    const asked = Number(query['resourceVersion'] ?? 0);
    if (version <= this.#watches.forgottenUntil && place !== undefined) {
      throw new ApiError(410, 'Expired', 'The provided continue parameter is too old');
    }
    const matches = makeSelector(query);
    const all = [...this.#collection(collection).values()]
      .filter((object) => isIn(object, namespace) && matches(object))
      .sort((one, other) => (keyIn(one) < keyIn(other) ? -1 : 1));
    const left = place === undefined ? all : all.filter((object) => keyIn(object) > place.after);
    // As a real one does: from its memory (a version was named) it answers in one piece.
    const limit = asked > 0 || query['resourceVersion'] === '0' ? 0 : Number(query['limit'] ?? 0);
    const items = limit > 0 ? left.slice(0, limit) : left;
    const more = items.length < left.length ? writePlace(version, keyIn(items.at(-1)!)) : undefined;
    return { metadata: { resourceVersion: String(version), ...(more && { continue: more }) }, items };
  }

  /** A real one waits for three seconds before it says so. */
  #checkReached(query: Readonly<Record<string, string>> = {}): void {
    const asked = Number(query['resourceVersion'] ?? 0);
    if (asked <= this.#version) return;
    const words = `Timeout: Too large resource version: ${asked}, current: ${this.#version}`;
    throw new ApiError(504, 'Timeout', words, 1_000, ['ResourceVersionTooLarge']);
  }

  #get({ collection, resource, namespace, name = '' }: ApiPath): StoredObject {
    const object = this.#collection(collection).get(keyOf(namespace, name));
    if (object === undefined) throw new ApiError(404, 'NotFound', `${resource} "${name}" not found`);
    return object;
  }

  #create(at: ApiPath, object: ObjectToMake): StoredObject {
    const { name } = object.metadata;
    if (name !== undefined && this.#collection(at.collection).has(keyOf(at.namespace, name))) {
      throw new ApiError(409, 'AlreadyExists', `${at.resource} "${name}" already exists`);
    }
    const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
    const path = at.namespace === undefined ? '' : `/namespaces/${at.namespace}`;
    return this.put(
      at.collection.replace(/\/[^/]+$/, (end) => `${path}${end}`),
      { ...object, metadata },
    );
  }

  #update(at: ApiPath, sent: StoredObject): StoredObject {
    const before = this.#get(at);
    const version = sent.metadata.resourceVersion as string | undefined;
    if (version !== undefined && version !== '' && version !== before.metadata.resourceVersion) {
      throw conflict(at, 'the object has been modified; please apply your changes to the latest version');
    }
    return this.#write(at, before, sent);
  }

  #patch(at: ApiPath, { body, contentType }: KubeRequest): StoredObject {
    const before = this.#get(at);
    const isMerge = contentType === 'application/merge-patch+json';
    const patched = (isMerge ? mergePatch : strategicMergePatch)(before, body) as StoredObject;
    const { uid, resourceVersion } = patched.metadata;
    if (uid !== before.metadata.uid) {
      const words = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`;
      throw conflict(at, words);
    }
    if (resourceVersion !== before.metadata.resourceVersion) {
      throw conflict(at, 'the object has been modified; please apply your changes to the latest version');
    }
    return this.#write(at, before, patched);
  }

  /** Of the status subresource only the status counts, of the object itself everything else. */
  #write(at: ApiPath, before: StoredObject, after: StoredObject): StoredObject {
    const isStatus = at.subresource === 'status';
    const hasStatus = at.resource === 'pods' || at.resource === 'nodes';
    const next = isStatus
      ? { ...before, status: after.status ?? {} }
      : { ...after, ...(hasStatus ? { status: before.status ?? {} } : {}) };
    const { uid, creationTimestamp, name } = before.metadata;
    const metadata = { ...next.metadata, uid, creationTimestamp, name };
    if (!isStatus && !same(next.spec, before.spec)) metadata.generation = (metadata.generation ?? 1) + 1;
    const written = { ...next, metadata };
    if (isToGo(written)) return this.#remove(at, before);
    return same(written, before) ? before : this.#store(at, before, written);
  }

  #delete(at: ApiPath, options: DeleteOptions): StoredObject {
    const object = this.#get(at);
    const wanted = options.preconditions?.uid;
    if (wanted !== undefined && wanted !== object.metadata.uid) {
      const words = `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${object.metadata.uid}`;
      throw conflict(at, words);
    }
    const graceS = at.resource === 'pods' ? graceOf(object, options.gracePeriodSeconds) : 0;
    const { finalizers = [], deletionTimestamp } = object.metadata;
    if (graceS === 0 && finalizers.length === 0) return this.#remove(at, object);
    if (deletionTimestamp !== undefined && graceS >= (object.metadata.deletionGracePeriodSeconds ?? 0)) {
      return object;
    }
    const metadata = {
      ...object.metadata,
      ...{
        deletionTimestamp: toV1Time(this.#clock.now() + graceS * 1000),
        deletionGracePeriodSeconds: graceS,
      },
    };
    return this.#store(at, object, { ...object, metadata });
  }

  #store({ collection }: ApiPath, before: StoredObject | undefined, object: StoredObject): StoredObject {
    const resourceVersion = String(++this.#version);
    const stored = structuredClone({ ...object, metadata: { ...object.metadata, resourceVersion } });
    this.#collection(collection).set(keyIn(stored), stored);
    this.#watches.tell({ collection, version: this.#version, before, after: stored });
    return stored;
  }

  #remove({ collection }: ApiPath, object: StoredObject): StoredObject {
    const resourceVersion = String(++this.#version);
    this.#collection(collection).delete(keyIn(object));
    const last = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.#watches.tell({ collection, version: this.#version, before: last, after: undefined });
    return last;
  }

  #collection(path: string): Map<string, StoredObject> {
    let objects = this.#collections.get(path);
    if (objects === undefined) this.#collections.set(path, (objects = new Map<string, StoredObject>()));
    return objects;
  }
}

function graceOf({ spec, status }: StoredObject, asked: number | string | undefined): number {
  const isOver = status?.['phase'] === 'Succeeded' || status?.['phase'] === 'Failed';
  // Nobody runs it: there is nothing to be waited for.
  if (isOver || (spec?.['nodeName'] ?? '') === '') return 0;
  const own = spec?.['terminationGracePeriodSeconds'];
  return Number(asked ?? (typeof own === 'number' ? own : 30));
}

function isToGo({ metadata }: StoredObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}

function conflict({ resource, name = '' }: ApiPath, why: string): ApiError {
  return new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${resource} "${name}": ${why}`);
}

function unreachable(): Error {
  return new Error('connect ECONNREFUSED (in memory)');
}

function isIn(object: StoredObject, namespace: string | undefined): boolean {
  return namespace === undefined || object.metadata.namespace === namespace;
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

function keyIn({ metadata }: StoredObject): string {
  return keyOf(metadata.namespace, metadata.name);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function writePlace(version: number, after: string): string {
  return `${version} ${after}`;
}

function readPlace(text: string): { readonly version: number; readonly after: string } {
  const [version = '', after = ''] = text.split(' ');
  return { version: Number(version), after };
}
