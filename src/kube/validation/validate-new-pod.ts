import { type FieldProblem, forbidden } from '../fields/field-problem.js';
import { type Pod } from '../pod/pod.js';

/**
 * Finds fields that Kubernetes rejects in a new pod, and accepts in an edit of an existing one. Pure.
 *
 * Ephemeral containers can only join a running pod.
 */
export function validateNewPod({ spec }: Pod): FieldProblem[] {
  if ((spec.ephemeralContainers ?? []).length === 0) return [];
  const why = 'cannot be set on create; add them by an edit once the pod is there';
  return [forbidden(['spec', 'ephemeralContainers'], why)];
}
