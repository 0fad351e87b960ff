import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type AgentClient } from '../../shared/api/agent-client.js';
import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { pathOf, PODS, type ResourceType } from '../../shared/api/resource-type.js';

/** The names that a running agent knows; none when there is no agent, or it does not answer at once. */
export class KnownNames {
  readonly #client: AgentClient;
  readonly #namespace: string;

  constructor(client: AgentClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  async objects(type: ResourceType): Promise<string[]> {
    return namesOf(await this.#list(pathOf(type, this.#namespace)));
  }

  async stoppedPods(): Promise<string[]> {
    const stopped = await this.#list('/stopped');
    return namesOf(stopped.filter(({ metadata }) => metadata?.namespace === this.#namespace));
  }

  async namespaces(): Promise<string[]> {
    const pods = await this.#list(pathOf(PODS, undefined));
    return [...new Set([DEFAULT_NAMESPACE, ...pods.map(({ metadata }) => metadata?.namespace ?? '')])].filter(
      Boolean,
    );
  }

  /** @param pod its name, with or without the kind in front. */
  async containers(pod: string): Promise<string[]> {
    const { spec = {} } = await this.#findPod(pod);
    const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
    return [...containers, ...initContainers, ...ephemeralContainers].map(({ name = '' }) => name);
  }

  async ports(pod: string): Promise<string[]> {
    const { containers = [] } = (await this.#findPod(pod)).spec ?? {};
    return containers.flatMap(({ ports = [] }) =>
      ports.map(({ containerPort = 0 }) => String(containerPort)),
    );
  }

  async #findPod(word: string): Promise<PodObject> {
    const name = word.split('/').at(-1)!;
    return this.#client.get(pathOf(PODS, this.#namespace, name)).catch(() => ({}));
  }

  async #list(path: string): Promise<readonly KubeObject[]> {
    const { items = [] } = await this.#client.get(path).catch((): KubeObject => ({}));
    return items;
  }
}

function namesOf(objects: readonly KubeObject[]): string[] {
  return objects.map(({ metadata }) => metadata?.name ?? '');
}
