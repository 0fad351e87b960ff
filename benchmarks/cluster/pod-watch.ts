import { setTimeout as sleep } from 'node:timers/promises';
import { containerIdOf } from '#node';
import { type KubeClient } from '#cluster';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { Reflector } from '../../src/cluster/watch/reflector.js';
import { SystemClock } from '#base/time/clock.js';
import { isReady } from '../../test/cluster/harness/is-ready.js';

/** What came of a pod, in wall-clock milliseconds as this process was told of it. */
export interface WatchedPod {
  readonly name: string;
  /** It has a node. */
  scheduledMs?: number;
  readyMs?: number;
  goneMs?: number;
  /** As the runtime knows it, of the first container. */
  containerId?: string;
}

const POLL_MS = 2;
const PODS = '/api/v1/namespaces/default/pods';

/** Follows the pods of the namespace `default`, as somebody with kubectl would. */
export class PodWatch implements AsyncDisposable {
  readonly #pods = new Map<string, WatchedPod>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: KubeClient) {
    const reflector = new Reflector<Pod>({
      ...{ client, clock: new SystemClock(), path: PODS },
      sink: {
        replace: (items) => {
          const names = new Set(items.map(({ metadata }) => metadata?.name));
          for (const pod of this.#pods.values()) if (!names.has(pod.name)) pod.goneMs ??= Date.now();
          for (const item of items) this.#note(item);
        },
        upsert: (item) => this.#note(item),
        delete: ({ metadata }) => {
          const pod = this.#pods.get(metadata?.name ?? '');
          if (pod !== undefined) pod.goneMs ??= Date.now();
        },
      },
    });
    this.#running = reflector.run(this.#stop.signal);
  }

  /** Those that there are or were and whose names begin so. */
  named(prefix: string): readonly WatchedPod[] {
    return [...this.#pods.values()].filter(({ name }) => name.startsWith(prefix));
  }

  /** Until so many of those are as told. Throws what `check` throws, or when the signal aborts. */
  async until(
    what: 'ready' | 'gone',
    { prefix, count, check, signal }: PodWait,
  ): Promise<readonly WatchedPod[]> {
    for (;;) {
      const pods = this.named(prefix).filter((pod) => pod[`${what}Ms`] !== undefined);
      if (pods.length >= count) return pods;
      check();
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #note({ metadata, spec, status }: Pod): void {
    const name = metadata?.name ?? '';
    const pod = this.#pods.get(name) ?? { name };
    this.#pods.set(name, pod);
    if (spec?.nodeName !== undefined) pod.scheduledMs ??= Date.now();
    if (isReady({ status })) pod.readyMs ??= Date.now();
    const { containerID } = status?.containerStatuses?.[0] ?? {};
    if (containerID !== undefined) pod.containerId ??= containerIdOf(containerID);
  }
}

/** Which pods are waited for. */
export interface PodWait {
  readonly prefix: string;
  readonly count: number;
  /** Throws when there is nothing to wait for any more. */
  readonly check: () => void;
  readonly signal: AbortSignal;
}
