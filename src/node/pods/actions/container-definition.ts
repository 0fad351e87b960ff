import { type Container } from '#kube/container/container.js';
import { type Pod } from '#kube/pod/pod.js';
import { ANNOTATIONS, type ContainerStatus, ownerOf, type SandboxStatus } from '#watch';
import { containerHash, podHash, sandboxHash } from './container-hash.js';
import { type ContainerBaseline, type PodActionInputs } from './pod-actions.js';

/** Cache by pod: a pod object is replaced, never changed, and each sync of an idle pod asks several times. */
const POD_HASHES = new WeakMap<Pod, string>();

function knownPodHash(pod: Pod): string {
  const known = POD_HASHES.get(pod) ?? podHash(pod);
  POD_HASHES.set(pod, known);
  return known;
}

/**
 * What is known of sandboxes and containers beside their labels and annotations; see {@link PodActionInputs}.
 */
export interface KnownParts {
  readonly findBaseline?: PodActionInputs['findBaseline'] | undefined;
  readonly isReplaced?: PodActionInputs['isReplaced'] | undefined;
}

/**
 * Decides whether containers and sandboxes match what the pod says of them now.
 *
 * Those of podloop carry its hash. The hash of another agent is not comparable: its parts are adopted as they
 * are. podloop's hash of that moment becomes their baseline, and later hashes are compared with that.
 *
 * What was ended for an edit does not match, whatever it carries: the edit may have been reverted.
 */
export class ContainerDefinitions {
  readonly #pod: Pod;
  readonly #findBaseline: NonNullable<PodActionInputs['findBaseline']>;
  readonly #isReplaced: NonNullable<PodActionInputs['isReplaced']>;
  readonly #baselinesToKeep = new Map<string, ContainerBaseline>();
  readonly #hashes = new Map<Container, string>();
  #podHash: string | undefined;

  constructor(pod: Pod, { findBaseline, isReplaced }: KnownParts) {
    this.#pod = pod;
    this.#findBaseline = findBaseline ?? (() => undefined);
    this.#isReplaced = isReplaced ?? (() => false);
  }

  /** Baselines of parts of other agents that were asked about and had none. */
  get baselinesToKeep(): ContainerBaseline[] {
    return [...this.#baselinesToKeep.values()];
  }

  /** The hash of what the pod says of a container now. */
  hashOf(container: Container): string {
    const known = this.#hashes.get(container) ?? containerHash(container, this.#pod.spec);
    this.#hashes.set(container, known);
    return known;
  }

  /**
   * Whether a container matches `container`, what the pod says now; true when in doubt, as nothing restarts
   * on a guess.
   */
  isCurrent({ id, sandboxId, labels, annotations }: ContainerStatus, container: Container): boolean {
    if (this.#isReplaced(id) || this.#isReplaced(sandboxId)) return false;
    if (ownerOf(labels) !== 'podloop') return this.#isAsTakenOver(id, this.hashOf(container));
    const ofPod = annotations[ANNOTATIONS.podHash];
    if (ofPod === undefined) {
      const written = annotations[ANNOTATIONS.hash];
      return written === undefined || written === this.hashOf(container);
    }
    return ofPod === this.#hashOfPod() && annotations[ANNOTATIONS.image] === container.image;
  }

  /**
   * Whether a sandbox belongs to the pod before an edit that recreates it, so that nothing in it counts for
   * the pod now.
   */
  isOutdated({ id, annotations }: SandboxStatus): boolean {
    if (this.#isReplaced(id)) return true;
    const ofPod = annotations[ANNOTATIONS.podHash];
    return ofPod !== undefined && ofPod !== this.#hashOfPod();
  }

  /** The same as {@link isCurrent} for a sandbox. */
  isSandboxCurrent({ id, annotations }: SandboxStatus): boolean {
    if (this.#isReplaced(id)) return false;
    const ofPod = annotations[ANNOTATIONS.podHash];
    if (ofPod !== undefined) return ofPod === this.#hashOfPod();
    const hash = sandboxHash(this.#pod);
    const written = annotations[ANNOTATIONS.sandboxHash];
    return written === undefined ? this.#isAsTakenOver(id, hash) : written === hash;
  }

  /** Whether a container belongs to the pod before an edit that recreates it. */
  isOfFormerPod({ sandboxId, annotations }: ContainerStatus): boolean {
    if (this.#isReplaced(sandboxId)) return true;
    const ofPod = annotations[ANNOTATIONS.podHash];
    return ofPod !== undefined && ofPod !== this.#hashOfPod();
  }

  /**
   * Whether a container's resources can change while it runs: in containers of others they are part of the
   * definition.
   */
  isResizable({ labels, annotations }: ContainerStatus): boolean {
    return ownerOf(labels) === 'podloop' && annotations[ANNOTATIONS.podHash] !== undefined;
  }

  #hashOfPod(): string {
    return (this.#podHash ??= knownPodHash(this.#pod));
  }

  #isAsTakenOver(id: string, hash: string): boolean {
    const baseline = this.#findBaseline(id);
    if (baseline !== undefined) return baseline === hash;
    this.#baselinesToKeep.set(id, { containerId: id, hash });
    return true;
  }
}
