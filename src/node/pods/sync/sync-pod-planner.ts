import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodCondition } from '#kube/pod/v1-pod-status.js';
import { type PodStatus } from '#watch';
import { type Clock } from '#base/time/clock.js';
import {
  type ContainerToReset,
  findContainersToReset,
  findSources,
  hasBegun,
} from '../../status/all-containers-restart.js';
import { PodContainers } from '../../status/pod-containers.js';

import { computePodActions } from '../actions/compute-actions.js';
import { ContainerAges } from '../actions/container-ages.js';
import { ContainerDefinitions } from '../actions/container-definition.js';
import { type PodActionInputs, type PodActions, type ProbeVerdicts } from '../actions/pod-actions.js';
import { type ReplacedParts } from '../actions/replaced-parts.js';
import { computeRemainingMs, type RestartBackoffOptions } from '../actions/restart-backoff.js';

/** Options of {@link PodPlanner}. */
export interface PodPlannerOptions {
  readonly clock: Clock;
  readonly probes: ProbeVerdicts;
  /** Default: the kubelet's. */
  readonly backoff?: RestartBackoffOptions;
  /** See {@link PodActionInputs.findBaseline}. */
  readonly findBaseline?: (containerId: string) => string | undefined;
  /** Whether something was ended to be replaced (default: nothing was). */
  readonly replaced?: Pick<ReplacedParts, 'has'>;
  /** See {@link PodActionInputs.resizes}. */
  readonly resizes?: PodActionInputs['resizes'];
}

/**
 * Computes the actions for a pod from the changing inputs of a sync and the lasting ones: ages, probes,
 * settings.
 */
export class PodPlanner {
  readonly #options: PodPlannerOptions;
  readonly #ages: ContainerAges;

  constructor(options: PodPlannerOptions) {
    this.#options = options;
    this.#ages = new ContainerAges({ clock: options.clock });
  }

  plan(
    inputs: Pick<PodActionInputs, 'pod' | 'observed' | 'findLastRestartCount' | 'isRestartingAll'>,
  ): PodActions {
    const { probes, backoff, findBaseline, resizes } = this.#options;
    const { pod, observed } = inputs;
    return computePodActions({
      ...inputs,
      probes,
      isReplaced: (id) => this.#isReplaced(pod, id),
      runTimes: this.#ages.observe(pod.metadata.uid, observed.containers),
      ...(backoff === undefined ? {} : { backoff }),
      ...(resizes === undefined ? {} : { resizes }),
      ...(findBaseline === undefined ? {} : { findBaseline }),
    });
  }

  /** Nothing of the pod has changed since its last plan, which stays valid. */
  observeSame(podUid: string): void {
    this.#ages.observeSame(podUid);
  }

  /** Whether an edit since its newest sandbox recreates the pod; also when the edit was reverted. */
  isOutdated(pod: NodePod, { sandboxes }: PodStatus): boolean {
    const [newest] = sandboxes;
    if (newest === undefined) return false;
    const isReplaced = (id: string): boolean => this.#isReplaced(pod, id);
    return new ContainerDefinitions(pod, { isReplaced }).isOutdated(newest);
  }

  /**
   * What has to be stopped and removed as all containers are restarted, in this order; `conditions` are those of the
   * pod's present status, which decide whether they are. None while the containers that asked are in back-off.
   */
  findContainersToReset(
    pod: NodePod,
    observed: PodStatus,
    conditions: readonly V1PodCondition[],
  ): readonly ContainerToReset[] {
    // Few pods are, and every sync asks.
    if (!hasBegun(conditions)) return [];
    const containers = new PodContainers(observed, observed.sandboxes[0]?.id);
    const isInBackoff = this.#isResetInBackoff(pod, observed, containers);
    return isInBackoff ? [] : findContainersToReset({ spec: pod.spec, containers }, conditions);
  }

  /** Whether every container whose end asks for the restart of all waits for its own back-off. */
  #isResetInBackoff(pod: NodePod, observed: PodStatus, containers: PodContainers): boolean {
    const { findBaseline, backoff } = this.#options;
    const isReplaced = (id: string): boolean => this.#isReplaced(pod, id);
    const definitions = new ContainerDefinitions(pod, { findBaseline, isReplaced });
    const runTimes = this.#ages.observe(pod.metadata.uid, observed.containers);
    const sources = findSources({
      ...{ spec: pod.spec, containers },
      isOwnEnd: (container, status) => definitions.isCurrent(status, container),
    });
    const remaining = sources.map(({ status }) => computeRemainingMs(status, runTimes, backoff));
    return remaining.length > 0 && !remaining.includes(0);
  }

  forget(podUid: string): void {
    this.#ages.forget(podUid);
  }

  #isReplaced({ metadata }: NodePod, id: string): boolean {
    return this.#options.replaced?.has(metadata.uid, id) === true;
  }
}
