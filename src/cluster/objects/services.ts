import { type NodePod } from '#kube/pod/node-pod.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type FollowedState, Reflector } from '../watch/reflector.js';
import { Synced } from './synced.js';
import {
  type AddressedService,
  type KubeService,
  serviceVariables,
  toAddressedService,
} from '#kube/workloads/service-variables.js';

/** What {@link Services} works with. */
export interface ServicesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PATH = '/api/v1/services';
/** The service of the API server itself; every pod gets its variables. */
const MASTER = { namespace: 'default', name: 'kubernetes' } as const;

/** The services of the cluster, as containers see them in variables. */
export class Services {
  /** By namespace and name; those without an address are left out. */
  readonly #byNamespace = new Map<string, Map<string, AddressedService>>();
  readonly #reflector: Reflector<KubeService>;
  readonly #synced: Synced;

  constructor(options: ServicesOptions) {
    this.#synced = new Synced(options);
    this.#reflector = new Reflector<KubeService>({
      ...{ ...options, path: PATH },
      sink: {
        replace: (items) => {
          this.#byNamespace.clear();
          for (const item of items) this.#take(item);
          this.#synced.set();
        },
        upsert: (item) => this.#take(item),
        delete: (item) => this.#remove(item),
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

  /** Resolves when they were read once, or after a while; rejects with the signal's reason. */
  async wait(signal: AbortSignal): Promise<void> {
    await this.#synced.wait(signal);
  }

  /**
   * What the containers of a pod are told: of the API server, and of all services of the pod's namespace unless it wants no
   * links. Throws an Error in the kubelet's words before they were read once.
   */
  variablesFor({ metadata, spec }: NodePod): ReadonlyMap<string, string> {
    if (!this.#synced.isSet) {
      throw new Error('services have not yet been read at least once, cannot construct envvars');
    }
    const found = new Map<string, AddressedService>();
    const master = this.#byNamespace.get(MASTER.namespace)?.get(MASTER.name);
    if (master !== undefined) found.set(MASTER.name, master);
    if (spec.enableServiceLinks !== false) {
      for (const [name, service] of this.#byNamespace.get(metadata.namespace) ?? []) {
        found.set(name, service);
      }
    }
    return new Map([...found.values()].flatMap(serviceVariables));
  }

  #take(service: KubeService): void {
    const addressed = toAddressedService(service);
    if (addressed === undefined) {
      this.#remove(service);
      return;
    }
    const { namespace = '' } = service.metadata ?? {};
    const services = this.#byNamespace.get(namespace) ?? new Map<string, AddressedService>();
    this.#byNamespace.set(namespace, services.set(addressed.name, addressed));
  }

  #remove({ metadata: { namespace = '', name = '' } = {} }: KubeService): void {
    const services = this.#byNamespace.get(namespace);
    services?.delete(name);
    if (services?.size === 0) this.#byNamespace.delete(namespace);
  }
}
