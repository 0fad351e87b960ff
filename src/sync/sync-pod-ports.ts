/**
 * What syncing one pod needs of the parts beside it; agent.ts passes the objects.
 *
 * @module
 */
import { type Container } from '../model/container.js';
import { type NodePod } from '../model/node-pod.js';
import { type ContainerMount } from '../runtime/container-mount.js';

/** The volumes of pods. */
export interface VolumeMounts {
  /** Makes what the pod's volumes need on the node, and does nothing where it is there. Rejects when one cannot be had. */
  setUp(pod: NodePod, signal: AbortSignal): Promise<void>;
  /** Where the volumes of one container are, in the order of its volumeMounts. Only after {@link setUp}. */
  mountsFor(pod: NodePod, container: Container): Promise<readonly ContainerMount[]>;
  /** Gives back what {@link setUp} made, once no container of the pod runs. Idempotent. */
  tearDown(pod: NodePod, signal: AbortSignal): Promise<void>;
}

/** The part of the probes that follows a pod's life. */
export interface PodProbes {
  /** Starts what is not probed yet. Idempotent. */
  addPod(pod: NodePod): void;
  /** The pod is ending: only readiness still matters. */
  stopLivenessAndStartup(pod: NodePod): void;
  removePod(pod: NodePod): void;
}

/** Why the runtime's network is not ready, or undefined when it is. */
export type NetworkProblem = () => string | undefined;
