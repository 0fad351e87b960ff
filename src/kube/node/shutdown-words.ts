/**
 * What a node says of itself and of its pods while the machine shuts down, in the words that Kubernetes documents.
 *
 * Source: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
 *
 * @module
 */

/** The status of a pod that comes after the notice. */
export const REJECTED_IN_SHUTDOWN = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
} as const;

/** The status of a pod that the shutdown has ended; `disruption` is the reason of its condition DisruptionTarget. */
export const ENDED_BY_SHUTDOWN = {
  phase: 'Failed',
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
  disruption: 'TerminationByKubelet',
} as const;

/** Why the Node is not Ready. */
export const NODE_SHUTTING_DOWN = 'node is shutting down';

/** How long the pods from a priority on, up to the next period's, get to end. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}
