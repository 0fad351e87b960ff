import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Logger } from '#base/log/logger.js';
import { podRefOf } from '../workers/pod-demand.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type ResizeObstacle } from '../admission/admit-pod.js';
import { type DesiredPods } from '../loop/desired-pods.js';

/** What {@link PendingResizes} works with. */
export interface PendingResizesOptions {
  readonly desired: Pick<DesiredPods, 'find' | 'findRejection'>;
  readonly workers: Pick<PodWorkers, 'isKnown' | 'isTerminationRequested'>;
  /** Why the node cannot give a pod what it requests now. */
  readonly findObstacle: (before: NodePod, after: NodePod) => ResizeObstacle | undefined;
  /** Called once for each edit. */
  readonly onHeld?: ((pod: NodePod, obstacle: ResizeObstacle) => void) | undefined;
  readonly logger: Logger;
}

/**
 * Resources that edited pods request and that the node cannot give them yet.
 *
 * Each pod keeps its present resources until there is room. This state is in memory only: when an agent
 * starts, a running pod gets what its manifest says, because nothing shows what it requested before.
 *
 * Source:
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#pod-resize-status
 */
export class PendingResizes {
  readonly #options: PendingResizesOptions;
  readonly #wishes = new Map<string, { readonly wish: NodePod; readonly obstacle: ResizeObstacle }>();

  constructor(options: PendingResizesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#wishes.size;
  }

  /** The pods as their manifests want them, in the order in which they were held. */
  wishes(): NodePod[] {
    return [...this.#wishes.values()].map(({ wish }) => wish);
  }

  /** Why the pod does not have the resources of its last edit, as of now; undefined when it has them. */
  obstacleOf(podUid: string): ResizeObstacle | undefined {
    const held = this.#wishes.get(podUid);
    const now = held && this.#options.desired.find(podUid);
    // If there is room by now, it is about to get it.
    return (now && this.#options.findObstacle(now, held.wish)) ?? held?.obstacle;
  }

  /**
   * The pod as it should be for now: as edited, but with the resources of `before` where the node cannot give
   * more.
   *
   * `before` is undefined for a new pod.
   */
  adapt(wish: NodePod, before: NodePod | undefined): NodePod {
    const { onHeld, logger } = this.#options;
    const { uid, deletionTimestamp } = wish.metadata;
    const isKnown = this.#wishes.get(uid)?.wish === wish;
    this.#wishes.delete(uid);
    if (before === undefined || deletionTimestamp !== undefined || !this.#runs(uid)) return wish;
    const obstacle = this.#options.findObstacle(before, wish);
    if (obstacle === undefined) return wish;
    if (!isKnown) {
      const fields = { pod: podRefOf(wish), podUID: uid, ...obstacle };
      logger.warn('Pod keeps its resources: the node lacks what an edit gives it', fields);
      onHeld?.(wish, obstacle);
    }
    this.#wishes.set(uid, { wish, obstacle });
    return withResourcesOf(before, wish);
  }

  /** Whether there is room now for a wish; forgets the wish of a pod that is over. */
  fits(wish: NodePod): boolean {
    const { uid } = wish.metadata;
    const now = this.#options.desired.find(uid);
    if (now !== undefined && this.#runs(uid)) return this.#options.findObstacle(now, wish) === undefined;
    this.#wishes.delete(uid);
    return false;
  }

  /** Nobody wants the pod any more. */
  forget(podUid: string): void {
    this.#wishes.delete(podUid);
  }

  #runs(uid: string): boolean {
    const { desired, workers } = this.#options;
    const isRejected = desired.findRejection(uid) !== undefined;
    return !isRejected && workers.isKnown(uid) && !workers.isTerminationRequested(uid);
  }
}

function withResourcesOf(before: NodePod, wish: NodePod): NodePod {
  const { containers, initContainers } = wish.spec;
  const former = new Map(
    [...(before.spec.initContainers ?? []), ...before.spec.containers].map((each) => [each.name, each]),
  );
  const held = (container: Container): Container => {
    const known = former.get(container.name);
    if (known === undefined) return container;
    const { resources: _, ...rest } = container;
    return known.resources === undefined ? rest : { ...rest, resources: known.resources };
  };
  return {
    ...wish,
    spec: {
      ...wish.spec,
      containers: containers.map(held),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(held) }),
    },
  };
}
