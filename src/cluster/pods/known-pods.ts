import { type ReflectorSink } from '../watch/reflector.js';
import { isOlderUnlessUnknown, isSurelyOlder } from '../watch/resource-version.js';
import { type ApiPod, isNamed, type NamedApiPod } from './api-pod.js';

/** Who wants to know when pods change: called after the change, and not to throw. */
export interface KnownPodsListener {
  /** There is a newer version of it. */
  changed(pod: NamedApiPod): void;
  /** The API server has it no more. */
  gone(pod: NamedApiPod): void;
  /** All were listed, and the resulting changes have been delivered. */
  listed?(): void;
}

/**
 * The pods of this node as the API server was last seen to have them: by watch, and by answers to what this node wrote.
 *
 * An older version never takes the place of a newer one: an answer may come before or after the event of the same change. And
 * what is gone by an answer does not come back with what the watch still has to tell of the time before.
 */
export class KnownPods implements ReflectorSink<ApiPod> {
  readonly #pods = new Map<string, NamedApiPod>();
  readonly #listeners: KnownPodsListener[] = [];
  /** Uids of pods that are gone by an answer, until the watch has got as far. */
  readonly #ended = new Set<string>();
  /** How far list and watch have got. */
  #seen = '';
  #wasRestored = false;
  #isComplete = false;
  #ignored = 0;

  /** Whether all of them have been listed, once. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Objects that do not say which pod they are. */
  get ignored(): number {
    return this.#ignored;
  }

  get size(): number {
    return this.#pods.size;
  }

  find(uid: string): NamedApiPod | undefined {
    return this.#pods.get(uid);
  }

  all(): IterableIterator<NamedApiPod> {
    return this.#pods.values();
  }

  /** The server was restored. Its next list is from another past, though it may have got further in that meanwhile. */
  noteRestored(): void {
    this.#wasRestored = true;
  }

  listen(listener: KnownPodsListener): void {
    this.#listeners.push(listener);
  }

  replace(items: readonly ApiPod[], resourceVersion: string): void {
    const uids = new Set(items.map(({ metadata }) => metadata?.uid));
    const gone = [...this.#pods.values()].filter(({ metadata }) => !uids.has(metadata.uid));
    // Of a server whose data were restored: versions count from there again, and later writes are lost.
    const isBack = this.#wasRestored || isSurelyOlder(resourceVersion, this.#seen);
    this.#wasRestored = false;
    this.#seen = resourceVersion;
    this.#isComplete = true;
    for (const uid of this.#ended) if (isBack || !uids.has(uid)) this.#ended.delete(uid);
    for (const pod of gone) this.#drop(pod);
    for (const item of items) if (!this.#hasEnded(item)) this.#take(item, { mayShareVersion: isBack });
    for (const listener of this.#listeners) listener.listed?.();
  }

  upsert(item: ApiPod): void {
    this.#seen = item.metadata?.resourceVersion ?? '';
    if (!this.#hasEnded(item)) this.#takeNewer(item);
  }

  delete(item: ApiPod): void {
    this.#seen = item.metadata?.resourceVersion ?? '';
    this.#ended.delete(item.metadata?.uid ?? '');
    this.#drop(item);
  }

  /** An answer of the server to something that was written; says nothing of pods that are gone meanwhile. */
  update(item: ApiPod | undefined): void {
    if (item !== undefined && this.#pods.has(item.metadata?.uid ?? '')) this.#takeNewer(item);
  }

  /** The server has answered that it has this pod: one that was made, or that was asked for after it was to be gone. */
  found(item: ApiPod): void {
    const { uid = '', resourceVersion } = item.metadata ?? {};
    const isKnown = this.#pods.has(uid) || this.#ended.delete(uid);
    // A watch that has got further has shown it, and that it is gone.
    if (isKnown || isOlderUnlessUnknown(this.#seen, resourceVersion)) this.#takeNewer(item);
  }

  /** The server has answered that it has this pod no more. */
  end({ metadata: { uid } }: NamedApiPod): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#ended.add(uid);
    this.#drop(known);
  }

  #hasEnded({ metadata }: ApiPod): boolean {
    return this.#ended.has(metadata?.uid ?? '');
  }

  #drop(item: ApiPod): void {
    const known = this.#pods.get(item.metadata?.uid ?? '');
    if (known === undefined) return;
    this.#pods.delete(known.metadata.uid);
    for (const listener of this.#listeners) listener.gone(known);
  }

  #takeNewer(item: ApiPod): void {
    const before = this.#pods.get(item.metadata?.uid ?? '');
    if (before === undefined || !isOlder(item, before)) this.#take(item);
  }

  #take(item: ApiPod, { mayShareVersion = false } = {}): void {
    if (!isNamed(item)) {
      this.#ignored++;
      return;
    }
    const before = this.#pods.get(item.metadata.uid);
    const version = item.metadata.resourceVersion;
    const isSame = version !== undefined && before?.metadata.resourceVersion === version;
    if (isSame && !mayShareVersion) return;
    const pod = withoutBallast(item);
    this.#pods.set(item.metadata.uid, pod);
    for (const listener of this.#listeners) listener.changed(pod);
  }
}

/** Whether the first was so before the other: of the same pod, or of two. */
export function isOlder({ metadata: one }: ApiPod, { metadata: other }: ApiPod): boolean {
  return isSurelyOlder(one?.resourceVersion, other?.resourceVersion);
}

/** Nobody here reads who wrote which field, and it is often the largest part. */
function withoutBallast(pod: NamedApiPod): NamedApiPod {
  const { managedFields: _fields, ...metadata } = pod.metadata as NamedApiPod['metadata'] & {
    readonly managedFields?: unknown;
  };
  return { ...pod, metadata };
}
