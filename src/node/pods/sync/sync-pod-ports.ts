/**
 * What syncing one pod needs of the parts beside it; agent.ts passes the objects.
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type ContainerEnvironment } from '../../runtime/config/container-environment.js';
import { type ContainerMount } from '../../runtime/config/container-mount.js';
import { type PodStatus, type SandboxStatus } from '#watch';
import { type PodStatusOverride } from '../workers/pod-syncer.js';

import { type ContainerBaseline } from '../actions/pod-actions.js';

/** The volumes of pods. */
export interface VolumeMounts {
  /**
   * Makes what the pod's volumes need on the node, and does nothing where it is there. Rejects when one cannot be had;
   * the pod's events tell which, and why. `isRunning`: something of the pod runs, so that whoever started it had set them up.
   */
  setUp(pod: NodePod, signal: AbortSignal, options: { readonly isRunning: boolean }): Promise<void>;
  /**
   * Where the volumes of one container are, in the order of its volumeMounts. Only after {@link setUp}. A path below a
   * volume may refer to the container's variables.
   */
  mountsFor(
    pod: NodePod,
    container: Container,
    environment: Pick<ContainerEnvironment, 'find'>,
  ): Promise<readonly ContainerMount[]>;
  /** Gives back what {@link setUp} made, once no container of the pod runs. Idempotent. */
  tearDown(pod: NodePod, signal: AbortSignal): Promise<void>;
}

/** What containers are told beside what stands in their manifest. */
export interface ContainerEnvironments {
  /**
   * The environment of a container as of now; `sandboxIps` are the addresses of its sandbox. Throws an Error, in the
   * kubelet's words, when something that it needs is missing.
   */
  resolve(pod: NodePod, container: Container, sandboxIps: readonly string[]): ContainerEnvironment;
}

/** What pods of an API server refer to, and what is kept for that. Nothing is to be fetched for other pods. */
export interface PodReferents {
  /**
   * Before the pod's volumes are set up: has looked up what they are made of. Resolves when that is done, or when nothing came
   * for a while: then whoever asks for it fails. Rejects with the signal's reason.
   */
  fetchForVolumes(pod: NodePod, signal: AbortSignal): Promise<void>;
  /** Before a container is started: the same for its variables, and for what its image is fetched with. */
  fetchForContainer(pod: NodePod, container: Container, signal: AbortSignal): Promise<void>;
  /**
   * The handler of the runtime for a new sandbox of the pod; empty for the runtime's own choice. Rejects in the kubelet's
   * words when there is none, and with the signal's reason.
   */
  getRuntimeHandler(pod: NodePod, signal: AbortSignal): Promise<string>;
  /** The pod is gone: nothing is kept for it. */
  forget(podUid: string): void;
}

/** The part of the probes that follows a pod's life. */
export interface PodProbes {
  /** Starts what is not probed yet. Idempotent. */
  addPod(pod: NodePod): void;
  /** The pod is ending: only readiness still matters. */
  stopLivenessAndStartup(pod: NodePod): void;
  removePod(pod: NodePod): void;
}

/** In which part of its life a pod is: brought nearer to its manifest, being ended, or ended. */
export type StatusStage = 'syncing' | 'terminating' | 'terminated';

/** A status as it is kept now. */
export interface UpdatedStatus {
  readonly status: V1PodStatus;
  /** Compute it again after that long, as the pod's time is up then; undefined when it has no deadline. */
  readonly checkAgainInMs: number | undefined;
}

/** Where statuses are computed and kept. */
export interface PodStatuses {
  /** Computes the pod's status, keeps it, and gives it. `end` replaces phase, reason and message. */
  update(
    pod: NodePod,
    observed: PodStatus,
    stage: StatusStage,
    end?: PodStatusOverride,
  ): Promise<UpdatedStatus>;
  /** The pod is gone: nothing has to be remembered for its next status. */
  forget(podUid: string): void;
  /** The pod is made anew under its uid: what was known of it is of another one. */
  renew(podUid: string): void;
}

/** Where the hashes of containers that another agent made are kept. */
export interface ContainerBaselines {
  keep(pod: NodePod, baselines: readonly ContainerBaseline[]): Promise<void>;
}

/** Where the cgroups of pods are: the cgroup_parent of CRI, empty for the runtime's own choice. */
export interface PodCgroupParents {
  /**
   * For a new sandbox of a pod. What has to be there for it is made, as far as this machine allows. Rejects with
   * CGROUP_DRIVER_CONFLICT alone: the runtime would refuse the sandbox.
   */
  prepare(pod: NodePod): Promise<string>;
  /**
   * After the runtime has refused a sandbox of its default handler: true when the error shows that it wants parents in
   * another form, and {@link prepare} gives them in that from now on. Never rejects.
   */
  learn(error: unknown): Promise<boolean>;
  /**
   * That of a sandbox that is there, whoever made it and whatever holds for new ones by now: containers join those that
   * run. Rejects when the runtime would have to tell and does not answer.
   */
  findParent(pod: NodePod, sandbox: SandboxStatus, signal: AbortSignal): Promise<string>;
}

/** What whole pods may use. */
export interface PodLimits {
  /** Before containers of a pod grow: gives the pod what it may have more by now. Never rejects. */
  grow(pod: NodePod, sandbox: SandboxStatus): Promise<void>;
  /**
   * After containers of a pod have shrunk: holds the pod to what it may have by now. Rejects with RESIZE_NOT_POSSIBLE
   * when it uses more.
   */
  settle(pod: NodePod, sandbox: SandboxStatus): Promise<void>;
}

/** Why the runtime's network is not ready, or undefined when it is. */
export type NetworkProblem = () => string | undefined;
