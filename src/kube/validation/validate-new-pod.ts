import { type FieldProblem, forbidden } from '../fields/field-problem.js';
import { type Pod } from '../pod/pod.js';

/**
 * What Kubernetes refuses in a pod that is created, and takes as an edit of one that is there. Pure.
 *
 * Ephemeral containers join a pod that runs.
 */
export function validateNewPod({ spec }: Pod): FieldProblem[] {
  if ((spec.ephemeralContainers ?? []).length === 0) return [];
  const why = 'cannot be set on create; add them by an edit once the pod is there';
  return [forbidden(['spec', 'ephemeralContainers'], why)];
}
