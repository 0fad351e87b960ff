/** Kubernetes' default of spec.terminationGracePeriodSeconds. */
export const DEFAULT_GRACE_SECONDS = 30;
