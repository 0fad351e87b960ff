import { type Container } from '#kube/container/container.js';
import { type Pod } from '#kube/pod/pod.js';
import { ANNOTATIONS, type ContainerStatus, ownerOf, type SandboxStatus } from '#watch';
import { containerHash, podHash, sandboxHash } from './container-hash.js';
import { type ContainerBaseline, type PodActionInputs } from './pod-actions.js';

/**
 * Of pods that were asked about: a pod is replaced and never changed, and each sync of one to which nothing happens asks
 * several times.
 */
const POD_HASHES = new WeakMap<Pod, string>();

function knownPodHash(pod: Pod): string {
  const known = POD_HASHES.get(pod) ?? podHash(pod);
  POD_HASHES.set(pod, known);
  return known;
}

/** What is known of sandboxes and containers beside what stands on them; see {@link PodActionInputs}. */
export interface KnownParts {
  readonly findBaseline?: PodActionInputs['findBaseline'] | undefined;
  readonly isReplaced?: PodActionInputs['isReplaced'] | undefined;
}

/**
 * Tells whether containers and sandboxes were made for what the pod says of them now.
 *
 * Ours carry our hash. A hash that another agent wrote is not comparable with ours: what carries it is taken over as
 * it is, our hash of that moment becomes its baseline, and from then on it is held against that.
 *
 * What was ended for an edit is not what the pod says, whatever it carries: the edit may have been taken back.
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

  /** Of what other agents made, was asked about, and had no baseline. */
  get baselinesToKeep(): ContainerBaseline[] {
    return [...this.#baselinesToKeep.values()];
  }

  /** The hash of what the pod says of a container now. */
  hashOf(container: Container): string {
    const known = this.#hashes.get(container) ?? containerHash(container, this.#pod.spec);
    this.#hashes.set(container, known);
    return known;
  }

  /** `container`: what the pod says now. What cannot be told counts as unchanged: nothing is restarted on a guess. */
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

  /** Whether a sandbox is of a pod that was another one before an edit: nothing in it says anything of the pod now. */
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

  /** Whether a container is of the pod that was another one before an edit. */
  isOfFormerPod({ sandboxId, annotations }: ContainerStatus): boolean {
    if (this.#isReplaced(sandboxId)) return true;
    const ofPod = annotations[ANNOTATIONS.podHash];
    return ofPod !== undefined && ofPod !== this.#hashOfPod();
  }

  /** Whether a container's resources are adapted while it runs: those of others are part of their definition. */
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
