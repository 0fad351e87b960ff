import { type ReflectorSink } from '../watch/reflector.js';
import { type ApiPod, isNamed, type NamedApiPod } from './api-pod.js';

/** Who wants to know when pods change: called after the change, and not to throw. */
export interface KnownPodsListener {
  /** There is a newer version of it. */
  changed(pod: NamedApiPod): void;
  /** The API server has it no more. */
  gone(pod: NamedApiPod): void;
  /** All were listed, and what that changed has been told. */
  listed?(): void;
}

/**
 * The pods of this node as the API server was last seen to have them: by watch, and by answers to what this node wrote.
 *
 * An older version never takes the place of a newer one: an answer may come before or after the event of the same change.
 */
export class KnownPods implements ReflectorSink<ApiPod> {
  readonly #pods = new Map<string, NamedApiPod>();
  readonly #listeners: KnownPodsListener[] = [];
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

  listen(listener: KnownPodsListener): void {
    this.#listeners.push(listener);
  }

  replace(items: readonly ApiPod[]): void {
    const uids = new Set(items.map(({ metadata }) => metadata?.uid));
    const gone = [...this.#pods.values()].filter(({ metadata }) => !uids.has(metadata.uid));
    this.#isComplete = true;
    for (const pod of gone) this.delete(pod);
    // Of a server whose data were restored the versions may be smaller than before.
    for (const item of items) this.#take(item);
    for (const listener of this.#listeners) listener.listed?.();
  }

  upsert(item: ApiPod): void {
    const before = this.#pods.get(item.metadata?.uid ?? '');
    if (before === undefined || !isOlder(item, before)) this.#take(item);
  }

  delete(item: ApiPod): void {
    const known = this.#pods.get(item.metadata?.uid ?? '');
    if (known === undefined) return;
    this.#pods.delete(known.metadata.uid);
    for (const listener of this.#listeners) listener.gone(known);
  }

  /** An answer of the server to something that was written; says nothing of pods that are gone meanwhile. */
  update(item: ApiPod | undefined): void {
    if (item !== undefined && this.#pods.has(item.metadata?.uid ?? '')) this.upsert(item);
  }

  #take(item: ApiPod): void {
    if (!isNamed(item)) {
      this.#ignored++;
      return;
    }
    const before = this.#pods.get(item.metadata.uid);
    const version = item.metadata.resourceVersion;
    if (version !== undefined && before?.metadata.resourceVersion === version) return;
    const pod = withoutBallast(item);
    this.#pods.set(item.metadata.uid, pod);
    for (const listener of this.#listeners) listener.changed(pod);
  }
}

/** Versions are numbers that count up within a resource (KEP-5504). Where they are not, what came last holds. */
function isOlder({ metadata: one }: ApiPod, { metadata: other }: ApiPod): boolean {
  const [a, b] = [one?.resourceVersion ?? '', other?.resourceVersion ?? ''];
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

/** Nobody here reads who wrote which field, and it is often the largest part. */
function withoutBallast(pod: NamedApiPod): NamedApiPod {
  const { managedFields: _fields, ...metadata } = pod.metadata as NamedApiPod['metadata'] & {
    readonly managedFields?: unknown;
  };
  return { ...pod, metadata };
}
