import { type KubeClient } from '#cluster';
import {
  ApiError,
  type KubeRequest,
  type WatchEvent,
  type WatchRequest,
} from '../../../src/cluster/client/kube-client.js';
import { Wakeup } from '#base/async/wakeup.js';
import { SystemClock } from '#base/time/clock.js';

type Fields = Record<string, unknown>;

/** What happens to a request instead of being answered. */
type Fault = (request: KubeRequest) => Error | 'hang' | undefined;

interface OpenWatch {
  readonly path: string;
  readonly events: WatchEvent<unknown>[];
  readonly wakeup: Wakeup;
  isOver: boolean;
}

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/**
 * As much of an API server as a node needs to register, to tell its status and to keep its lease, in memory.
 *
 * Patches are merged as strategic ones are: conditions by type, addresses replaced where told. As a real one it leaves
 * out sizes of 0 and says that no port is port 0.
 */
export class FakeNodeServer implements KubeClient {
  /** Objects by path. */
  readonly objects = new Map<string, Fields>();
  readonly requests: KubeRequest[] = [];
  /** Asked before each request is answered. */
  fault: Fault = () => undefined;
  readonly #watches = new Set<OpenWatch>();
  #canWatch = true;
  #version = 100;
  #uids = 0;

  /** Requests by method and the last parts of their paths: `PATCH nodes/here/status`. */
  get log(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path.replace(/^.*\/(nodes|leases)/, '$1')}`);
  }

  node(name = 'here'): Fields | undefined {
    return this.objects.get(`/api/v1/nodes/${name}`);
  }

  lease(name = 'here'): Fields | undefined {
    return this.objects.get(`${LEASES}/${name}`);
  }

  /** Puts an object as if somebody else had. */
  put(path: string, object: Fields): Fields {
    const metadata = object['metadata'] as Fields;
    const stored = {
      ...object,
      metadata: { uid: `uid-${++this.#uids}`, ...metadata, resourceVersion: String(++this.#version) },
    };
    this.#tell(this.objects.has(path) ? 'MODIFIED' : 'ADDED', path, stored);
    this.objects.set(path, stored);
    return stored;
  }

  /** Takes an object away. */
  drop(path: string): void {
    const object = this.objects.get(path);
    this.objects.delete(path);
    if (object !== undefined) this.#tell('DELETED', path, object);
  }

  /** As after a restore of etcd: all is as it was at that version, and later ones count from there again. */
  restore(version: number): void {
    this.#version = version;
    for (const object of this.objects.values()) {
      object['metadata'] = { ...(object['metadata'] as Fields), resourceVersion: String(version) };
    }
  }

  /** False ends all watches, and refuses new ones until it is true again. */
  set canWatch(can: boolean) {
    this.#canWatch = can;
    if (can) return;
    for (const watch of this.#watches) watch.isOver = true;
    for (const watch of this.#watches) watch.wakeup.wake();
  }

  async request<T>(request: KubeRequest): Promise<T> {
    this.requests.push(request);
    const { signal } = request;
    signal?.throwIfAborted();
    const fault = this.fault(request);
    if (fault instanceof Error) throw fault;
    if (fault === 'hang') await untilAbort(signal);
    // As over a network, nothing is answered in the same turn.
    await Promise.resolve();
    return structuredClone(this.#answer(request)) as T;
  }

  async *watch<T>({ path, onOpen, signal }: WatchRequest): AsyncIterable<WatchEvent<T>> {
    if (!this.#canWatch) throw new Error('no watches now');
    onOpen?.();
    const watch: OpenWatch = { path, events: [], wakeup: new Wakeup(), isOver: false };
    this.#watches.add(watch);
    try {
      for (;;) {
        for (const event of watch.events.splice(0)) yield structuredClone(event) as WatchEvent<T>;
        if (watch.isOver) throw new Error('the watch broke');
        await watch.wakeup.wait(new SystemClock(), undefined, signal);
      }
    } finally {
      this.#watches.delete(watch);
    }
  }

  #tell(type: WatchEvent<unknown>['type'], path: string, object: Fields): void {
    const metadata = { ...(object['metadata'] as Fields) };
    if (type === 'DELETED') metadata['resourceVersion'] = String(++this.#version);
    for (const watch of this.#watches) {
      if (!path.startsWith(`${watch.path}/`)) continue;
      watch.events.push({ type, object: { ...object, metadata } });
      watch.wakeup.wake();
    }
  }

  #answer({ method, path, body }: KubeRequest): Fields {
    const sent = structuredClone(body) as Fields;
    if (method === 'POST') {
      const target = `${path}/${(sent['metadata'] as Fields)['name'] as string}`;
      if (this.objects.has(target)) throw new ApiError(409, 'AlreadyExists', 'it is there already');
      return this.put(target, asStored(sent));
    }
    if (method === 'GET' && path === '/api/v1/nodes') {
      const items = [...this.objects].filter(([each]) => each.startsWith(`${path}/`)).map(([, node]) => node);
      return { metadata: { resourceVersion: String(this.#version) }, items };
    }
    const target = path.replace(/\/status$/, '');
    const stored = this.objects.get(target);
    if (stored === undefined) throw new ApiError(404, 'NotFound', `${target} not found`);
    if (method === 'GET') return stored;
    if (method === 'PATCH') return this.put(target, asStored(merge(stored, sent)));
    const { resourceVersion } = sent['metadata'] as Fields;
    if (resourceVersion !== (stored['metadata'] as Fields)['resourceVersion']) {
      throw new ApiError(409, 'Conflict', 'it was changed in between');
    }
    return this.put(target, sent);
  }
}

function merge(before: Fields, patch: Fields): Fields {
  // A map, as a field may have any name.
  const merged = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) merged.delete(key);
    else if (Array.isArray(value))
      merged.set(key, mergeList(key, (before[key] ?? []) as Fields[], value as Fields[]));
    else if (typeof value === 'object')
      merged.set(key, merge((before[key] ?? {}) as Fields, value as Fields));
    else merged.set(key, value);
  }
  return Object.fromEntries(merged);
}

function mergeList(key: string, before: readonly Fields[], patch: readonly Fields[]): unknown[] {
  if (key !== 'conditions' && key !== 'addresses') return [...patch];
  const items = patch.filter((item) => item['$patch'] === undefined);
  const kept = items.length < patch.length ? [] : before;
  const merged = kept.map((item) => ({ ...item, ...items.find(({ type }) => type === item['type']) }));
  return [...merged, ...items.filter(({ type }) => !kept.some((item) => item['type'] === type))];
}

/** As an API server writes it down. */
function asStored(object: Fields): Fields {
  const { status, ...rest } = object as { readonly status?: Fields };
  const { images = [], ...more } = (status ?? {}) as { readonly images?: readonly Fields[] };
  return {
    ...rest,
    status: {
      ...{ daemonEndpoints: { kubeletEndpoint: { Port: 0 } } },
      ...more,
      ...(images.length === 0 ? {} : { images: images.map(withoutZero) }),
    },
  };
}

function withoutZero(image: Fields): Fields {
  return Object.fromEntries(
    Object.entries(image).filter(([key, value]) => key !== 'sizeBytes' || value !== 0),
  );
}

async function untilAbort(signal: AbortSignal | undefined): Promise<never> {
  return await new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
