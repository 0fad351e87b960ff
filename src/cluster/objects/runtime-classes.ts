import { type NodePod } from '#kube/pod/node-pod.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type FollowedState, Reflector } from '../watch/reflector.js';
import { Synced } from './synced.js';

/** What {@link RuntimeClasses} works with. */
export interface RuntimeClassesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As much of a v1 RuntimeClass as is read. */
interface KubeRuntimeClass {
  readonly metadata?: { readonly name?: string };
  readonly handler?: unknown;
}

const PATH = '/apis/node.k8s.io/v1/runtimeclasses';

/**
 * Which handler of the runtime each RuntimeClass means.
 *
 * @see https://kubernetes.io/docs/concepts/containers/runtime-class/
 */
export class RuntimeClasses {
  readonly #handlers = new Map<string, string>();
  readonly #reflector: Reflector<KubeRuntimeClass>;
  readonly #synced: Synced;

  constructor(options: RuntimeClassesOptions) {
    this.#synced = new Synced(options);
    this.#reflector = new Reflector<KubeRuntimeClass>({
      ...{ ...options, path: PATH },
      sink: {
        replace: (items) => {
          this.#handlers.clear();
          for (const item of items) this.#take(item);
          this.#synced.set();
        },
        upsert: (item) => this.#take(item),
        delete: ({ metadata }) => void this.#handlers.delete(metadata?.name ?? ''),
      },
    });
  }

  /** How the watch gets on. */
  get state(): FollowedState {
    return this.#reflector.state;
  }

  /** The API server is there: the watch need not wait any longer. */
  retryNow(): void {
    this.#reflector.retryNow();
  }

  /** The API server was restored: what the watch has reported may not exist any more. */
  listAgain(): void {
    this.#reflector.listAgain();
  }

  /** Follows them until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }

  /**
   * The handler for a new sandbox of the pod; empty for the runtime's own choice. Rejects in the kubelet's words when
   * there is no such class, and with the signal's reason.
   */
  async getHandler({ spec }: NodePod, signal: AbortSignal): Promise<string> {
    const { runtimeClassName: name = '' } = spec;
    if (name === '') return '';
    await this.#synced.wait(signal);
    const handler = this.#handlers.get(name);
    if (handler !== undefined) return handler;
    if (this.#synced.isSet) throw new Error(`runtimeclass.node.k8s.io ${JSON.stringify(name)} not found`);
    throw new Error(`failed to lookup RuntimeClass ${name}: the API server was not reached yet`);
  }

  /** The same as far as it is known now; empty when it is not. */
  findHandler({ spec }: NodePod): string {
    return this.#handlers.get(spec.runtimeClassName ?? '') ?? '';
  }

  #take({ metadata, handler }: KubeRuntimeClass): void {
    if (metadata?.name !== undefined && typeof handler === 'string') {
      this.#handlers.set(metadata.name, handler);
    }
  }
}
