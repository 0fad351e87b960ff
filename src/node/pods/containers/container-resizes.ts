import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computeContainerResources } from '../../runtime/config/container-resources.js';
import { type ContainerLimits, type ContainerStatus, toContainerLimits } from '#watch';
import { findLimitChange, type LimitChange } from '../../runtime/config/limit-change.js';
import { type NodeFacts } from '../../runtime/config/node-facts.js';

/**
 * The actual and the desired limits of running containers.
 *
 * The actual ones are the runtime's, unless a change was applied since the last status: a relist of a pod in
 * which nothing happened does not show it.
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

  /** Undefined where the runtime does not report limits. */
  actualOf(podUid: string, { id, resources }: ContainerStatus): ContainerLimits | undefined {
    return this.#applied.get(podUid)?.get(id) ?? resources;
  }

  /** Undefined when nothing differs, or when that is unknown. */
  findChange(pod: NodePod, container: Container, status: ContainerStatus): LimitChange | undefined {
    const from = this.actualOf(pod.metadata.uid, status);
    if (from === undefined) return undefined;
    const to = toContainerLimits(computeContainerResources(pod, container, this.#node()));
    return findLimitChange(from, to);
  }

  /** The runtime accepted the change. */
  applied(podUid: string, containerId: string, limits: ContainerLimits): void {
    const pod = this.#applied.get(podUid) ?? new Map<string, ContainerLimits>();
    this.#applied.set(podUid, pod.set(containerId, limits));
  }

  /** The runtime cannot change the limits of that container while it runs. */
  refused(podUid: string, containerId: string): void {
    const pod = this.#unable.get(podUid) ?? new Set<string>();
    this.#unable.set(podUid, pod.add(containerId));
  }

  /** Whether the limits of the container can change only by recreating it. */
  isRefused(podUid: string, containerId: string): boolean {
    return this.#unable.get(podUid)?.has(containerId) === true;
  }

  forget(podUid: string): void {
    this.#unable.delete(podUid);
    this.#applied.delete(podUid);
  }
}
