import { ApiError, type WatchEvent } from '../../cluster/client/kube-client.js';
import { type StoredObject } from './stored-object.js';

/** One change of one object. */
export interface StoredChange {
  readonly collection: string;
  readonly version: number;
  /** Undefined when it was made. */
  readonly before: StoredObject | undefined;
  /** Undefined when it is gone; `before` is then what watches are shown. */
  readonly after: StoredObject | undefined;
}

interface WatchScope {
  readonly collection: string;
  readonly sinceVersion: number;
  readonly matches: (object: StoredObject) => boolean;
}

interface OpenWatch extends WatchScope {
  readonly waiting: WatchEvent<StoredObject>[];
  end: Error | 'ended' | undefined;
  wake: () => void;
}

/** The history of an {@link InMemoryApi}, and who watches it. */
export class MemoryWatches {
  readonly #open = new Set<OpenWatch>();
  #history: StoredChange[] = [];
  /** What happened up to this version is not known any more. */
  forgottenUntil = 0;

  get open(): number {
    return this.#open.size;
  }

  tell(change: StoredChange): void {
    this.#history.push(change);
    for (const watch of this.#open) this.#hand(watch, change);
  }

  bookmark(resourceVersion: string): void {
    const object = { metadata: { resourceVersion } } as StoredObject;
    for (const watch of this.#open) {
      if (Number(resourceVersion) > watch.sinceVersion) push(watch, { type: 'BOOKMARK', object });
    }
  }

  endAll(): void {
    for (const watch of this.#open) finish(watch, 'ended');
  }

  breakAll(error: Error): void {
    for (const watch of this.#open) finish(watch, error);
  }

  forgetUntil(version: number): void {
    this.forgottenUntil = version;
    this.#history = this.#history.filter((change) => change.version > version);
  }

  /** As a server that is started on other data: nothing is known but what there is as of this version. */
  restart(version: number, error: Error): void {
    this.forgottenUntil = version;
    this.#history = [];
    this.breakAll(error);
  }

  /** As a real server's: who asks for what is to come is shown nothing before, and gets no error. */
  async *follow(
    scope: WatchScope,
    signal: AbortSignal,
    onOpen?: () => void,
  ): AsyncGenerator<WatchEvent<StoredObject>, void> {
    if (scope.sinceVersion < this.forgottenUntil) {
      throw new ApiError(410, 'Expired', `too old resource version: ${scope.sinceVersion}`);
    }
    onOpen?.();
    const watch: OpenWatch = { ...scope, waiting: [], end: undefined, wake: () => undefined };
    for (const change of this.#history) this.#hand(watch, change);
    this.#open.add(watch);
    const onAbort = (): void => finish(watch, 'ended');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      for (;;) {
        const event = watch.waiting.shift();
        if (event !== undefined) yield structuredClone(event);
        else if (watch.end === 'ended') return;
        else if (watch.end !== undefined) throw watch.end;
        else await new Promise<void>((resolve) => (watch.wake = resolve));
      }
    } finally {
      this.#open.delete(watch);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #hand(watch: OpenWatch, { collection, version, before, after }: StoredChange): void {
    if (collection !== watch.collection || version <= watch.sinceVersion) return;
    const [was, is] = [before, after].map((each) => each !== undefined && watch.matches(each));
    if (is === true) push(watch, { type: was === true ? 'MODIFIED' : 'ADDED', object: after! });
    else if (was === true) {
      const metadata = { ...before!.metadata, resourceVersion: String(version) };
      push(watch, { type: 'DELETED', object: { ...before!, metadata } });
    }
  }
}

function push(watch: OpenWatch, event: WatchEvent<StoredObject>): void {
  if (watch.end !== undefined) return;
  watch.waiting.push(event);
  watch.wake();
}

function finish(watch: OpenWatch, end: Error | 'ended'): void {
  watch.end ??= end;
  watch.wake();
}
