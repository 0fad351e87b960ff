import { type V1PodCondition } from '#kube/pod/v1-pod-status.js';
import { type NamedApiPod } from './api-pod.js';

/** What makes a pod unready although its containers are ready. */
export interface UnmetGates {
  readonly reason: 'ReadinessGatesNotReady';
  readonly message: string;
}

/**
 * The readiness gates of a pod that hold it up, by the conditions that others have set on it. Pure, in the kubelet's
 * words.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
function findUnmetGates({ spec, status }: NamedApiPod): UnmetGates | undefined {
  const unmet: string[] = [];
  for (const { conditionType: type = '' } of spec?.readinessGates ?? []) {
    const condition = status?.conditions?.find((each) => each.type === type);
    if (condition === undefined) {
      unmet.push(`corresponding condition of pod readiness gate "${type}" does not exist.`);
    } else if (condition.status !== 'True') {
      unmet.push(`the status of pod readiness gate "${type}" is not "True", but ${condition.status ?? ''}`);
    }
  }
  if (unmet.length === 0) return undefined;
  return { reason: 'ReadinessGatesNotReady', message: unmet.join(', ') };
}

/** The pod's own conditions with {@link findUnmetGates} worked in: containers that are not ready come first. */
export function withGates(
  conditions: readonly V1PodCondition[],
  pod: NamedApiPod,
): readonly V1PodCondition[] {
  const unmet = findUnmetGates(pod);
  if (unmet === undefined) return conditions;
  return conditions.map((each) =>
    each.type === 'Ready' && each.status === 'True' ? { ...each, status: 'False', ...unmet } : each,
  );
}
