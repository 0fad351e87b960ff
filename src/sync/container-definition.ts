import { ANNOTATIONS, ownerOf } from '../runtime/labels.js';
import { type ContainerStatus, type SandboxStatus } from '../runtime/runtime.js';
import { type ContainerBaseline, type PodActionInputs } from './pod-actions.js';

/**
 * Tells whether containers and sandboxes were made for what the pod says of them now.
 *
 * Ours carry our hash. A hash that another agent wrote is not comparable with ours: what carries it is taken over as
 * it is, our hash of that moment becomes its baseline, and from then on it is held against that.
 */
export class ContainerDefinitions {
  readonly #findBaseline: NonNullable<PodActionInputs['findBaseline']>;
  readonly #baselinesToKeep = new Map<string, ContainerBaseline>();

  constructor(findBaseline: PodActionInputs['findBaseline']) {
    this.#findBaseline = findBaseline ?? (() => undefined);
  }

  /** Of what other agents made, was asked about, and had no baseline. */
  get baselinesToKeep(): ContainerBaseline[] {
    return [...this.#baselinesToKeep.values()];
  }

  /** `hash`: of what the pod says now. What cannot be told counts as unchanged: nothing is restarted on a guess. */
  isCurrent({ id, labels, annotations }: ContainerStatus, hash: string): boolean {
    if (ownerOf(labels) === 'podloop') return (annotations[ANNOTATIONS.hash] ?? hash) === hash;
    return this.#isAsTakenOver(id, hash);
  }

  /** The same for a sandbox. */
  isSandboxCurrent({ id, annotations }: SandboxStatus, hash: string): boolean {
    const written = annotations[ANNOTATIONS.sandboxHash];
    return written === undefined ? this.#isAsTakenOver(id, hash) : written === hash;
  }

  #isAsTakenOver(id: string, hash: string): boolean {
    const baseline = this.#findBaseline(id);
    if (baseline !== undefined) return baseline === hash;
    this.#baselinesToKeep.set(id, { containerId: id, hash });
    return true;
  }
}
