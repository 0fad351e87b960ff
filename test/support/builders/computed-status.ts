import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { somePodActionInputs, type PodActionsBlueprint } from './pod-action-inputs.js';
import { computePodStatus, type PodStatusInputs } from '../../../src/node/status/compute-pod-status.js';
import { type PodStatus } from '#watch';

/** When the status is computed. */
export const NOW_MS = Date.UTC(2026, 0, 2, 3, 10, 0);
/** The node of the pod. */
export const NODE = { hostIps: ['192.0.2.1'], runtimeName: 'containerd' };

/** What differs from a pod that is well. */
export type Facts = Partial<Omit<PodStatusInputs, 'pod' | 'observed' | 'previous'>> & {
  previous?: V1PodStatus;
};

/** What a status is computed of, with facts in place of the usual ones. */
export function inputsOf(blueprint: PodActionsBlueprint, facts: Facts = {}): PodStatusInputs {
  const { pod, observed } = somePodActionInputs(blueprint);
  const probes = { readiness: () => undefined, started: () => undefined };
  return {
    pod,
    observed: withIps(observed),
    nowMs: NOW_MS,
    node: NODE,
    probes,
    previous: undefined,
    ...facts,
  };
}

/** The status of a pod. */
export const compute = (blueprint: PodActionsBlueprint, facts: Facts = {}): V1PodStatus =>
  computePodStatus(inputsOf(blueprint, facts));

function withIps(observed: PodStatus): PodStatus {
  return { ...observed, ips: observed.sandboxes.find(({ state }) => state === 'running')?.ips ?? [] };
}

/** The status of its first container. */
export const main = ({ containerStatuses }: V1PodStatus): V1ContainerStatus => containerStatuses[0]!;
/** Its conditions: `False PodFailed` by type. */
export const conditions = ({ conditions: all }: V1PodStatus): Record<string, string> =>
  Object.fromEntries(all.map(({ type, status, reason = '' }) => [type, `${status} ${reason}`.trim()]));
/** Why each container waits. */
export const failure = (reason: string) => () => ({ reason, message: 'because' });
/** When its containers started. */
export const STARTED_AT = '2026-01-02T03:04:00Z';
/** A container that has ended. */
export const EXITED = { state: 'exited' } as const;
