import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computeContainerResources } from '../../runtime/config/container-resources.js';
import { type ContainerLimits, type ContainerStatus, toContainerLimits } from '#watch';
import { findLimitChange, type LimitChange } from '../../runtime/config/limit-change.js';
import { type NodeFacts } from '../../runtime/config/node-facts.js';

/**
 * Which limits hold for containers that run, and which should: the runtime's word, but for those that were changed since
 * it was asked, because a look at a pod in which nothing happened does not show them.
 */
export class ContainerResizes {
  readonly #node: () => Pick<NodeFacts, 'memoryCapacityBytes' | 'cpuCfsQuota' | 'cpuCfsPeriodUs'>;
  readonly #applied = new Map<string, Map<string, ContainerLimits>>();
  readonly #unable = new Map<string, Set<string>>();

  constructor(options: {
    readonly node: () => Pick<NodeFacts, 'memoryCapacityBytes' | 'cpuCfsQuota' | 'cpuCfsPeriodUs'>;
  }) {
    this.#node = options.node;
  }

  /** Undefined where the runtime does not tell. */
  actualOf(podUid: string, { id, resources }: ContainerStatus): ContainerLimits | undefined {
    return this.#applied.get(podUid)?.get(id) ?? resources;
  }

  /** Undefined when nothing differs, or nobody can tell. */
  findChange(pod: NodePod, container: Container, status: ContainerStatus): LimitChange | undefined {
    const from = this.actualOf(pod.metadata.uid, status);
    if (from === undefined) return undefined;
    const to = toContainerLimits(computeContainerResources(pod, container, this.#node()));
    return findLimitChange(from, to);
  }

  /** The runtime took the change. */
  applied(podUid: string, containerId: string, limits: ContainerLimits): void {
    const pod = this.#applied.get(podUid) ?? new Map<string, ContainerLimits>();
    this.#applied.set(podUid, pod.set(containerId, limits));
  }

  /** The runtime cannot change limits of that container while it runs. */
  refused(podUid: string, containerId: string): void {
    const pod = this.#unable.get(podUid) ?? new Set<string>();
    this.#unable.set(podUid, pod.add(containerId));
  }

  /** Whether limits of the container can be changed only by making it anew. */
  isRefused(podUid: string, containerId: string): boolean {
    return this.#unable.get(podUid)?.has(containerId) === true;
  }

  forget(podUid: string): void {
    this.#unable.delete(podUid);
    this.#applied.delete(podUid);
  }
}
