/**
 * How many seconds the end of a pod may take that says nothing of it: Kubernetes' default of
 * spec.terminationGracePeriodSeconds.
 */
export const DEFAULT_GRACE_SECONDS = 30;
