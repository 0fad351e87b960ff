import { ownerOf } from '../runtime/labels.js';
import { ANNOTATIONS } from '../runtime/labels.js';
import { type ContainerStatus } from '../runtime/runtime.js';
import { type ContainerBaseline, type PodActionInputs } from './pod-actions.js';

/**
 * Tells whether containers were made for what the pod says of them now.
 *
 * Ours carry our hash. A hash that another agent wrote is not comparable with ours: such a container is taken over as
 * it is, our hash of that moment becomes its baseline, and from then on it is held against that.
 */
export class ContainerDefinitions {
  readonly #findBaseline: NonNullable<PodActionInputs['findBaseline']>;
  readonly #baselinesToKeep = new Map<string, ContainerBaseline>();

  constructor(findBaseline: PodActionInputs['findBaseline']) {
    this.#findBaseline = findBaseline ?? (() => undefined);
  }

  /** Of the containers of other agents that were asked about and had no baseline. */
  get baselinesToKeep(): ContainerBaseline[] {
    return [...this.#baselinesToKeep.values()];
  }

  /** `hash`: of what the pod says now. What cannot be told counts as unchanged: nothing is restarted on a guess. */
  isCurrent({ id, labels, annotations }: ContainerStatus, hash: string): boolean {
    if (ownerOf(labels) === 'podloop') return (annotations[ANNOTATIONS.hash] ?? hash) === hash;
    const baseline = this.#findBaseline(id);
    if (baseline !== undefined) return baseline === hash;
    this.#baselinesToKeep.set(id, { containerId: id, hash });
    return true;
  }
}
