/**
 * What the sync of one pod needs of other parts; agent.ts passes the objects.
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type ContainerEnvironment } from '../../runtime/config/container-environment.js';
import { type ContainerMount } from '../../runtime/config/container-mount.js';
import { type IdRange, type PodStatus, type SandboxStatus } from '#watch';
import { type PodStatusOverride } from '../workers/pod-syncer.js';

import { type ContainerBaseline } from '../actions/pod-actions.js';

/** The volumes of pods. */
export interface VolumeMounts {
  /**
   * Creates what the pod's volumes need on the node; does nothing if it exists.
   *
   * Rejects when a volume cannot be set up; the pod's events report which, and why. `isRunning`: something of
   * the pod runs, so its volumes were set up before.
   */
  setUp(pod: NodePod, signal: AbortSignal, options: { readonly isRunning: boolean }): Promise<void>;
  /**
   * The mounts of one container, in the order of its volumeMounts. Only after {@link setUp}.
   *
   * A path below a volume may refer to the container's variables.
   */
  mountsFor(
    pod: NodePod,
    container: Container,
    environment: Pick<ContainerEnvironment, 'find'>,
  ): Promise<readonly ContainerMount[]>;
  /** Removes what {@link setUp} created, once no container of the pod runs. Idempotent. */
  tearDown(pod: NodePod, signal: AbortSignal): Promise<void>;
}

/** The environment of containers beyond their manifest. */
export interface ContainerEnvironments {
  /**
   * The environment of a container as of now; `sandboxIps` are the addresses of its sandbox.
   *
   * Rejects in the kubelet's words when something that it needs is missing, and with the signal's reason.
   */
  resolve(
    pod: NodePod,
    container: Container,
    sandboxIps: readonly string[],
    signal: AbortSignal,
  ): Promise<ContainerEnvironment>;
}

/** The objects that pods of an API server refer to. Other pods need nothing fetched. */
export interface PodReferents {
  /**
   * Fetches what the pod's volumes refer to, before they are set up.
   *
   * Resolves when that is done, or when nothing came for a while: then the set-up fails. Rejects with the
   * signal's reason.
   */
  fetchForVolumes(pod: NodePod, signal: AbortSignal): Promise<void>;
  /** Fetches what a container's variables and the pull of its image need, before it starts. */
  fetchForContainer(pod: NodePod, container: Container, signal: AbortSignal): Promise<void>;
  /**
   * The runtime handler for a new sandbox of the pod; empty for the runtime's own choice.
   *
   * Rejects in the kubelet's words when there is none, and with the signal's reason.
   */
  getRuntimeHandler(pod: NodePod, signal: AbortSignal): Promise<string>;
  /** The pod is gone: its objects are not needed any more. */
  forget(podUid: string): void;
}

/** The part of the probes that follows a pod's life. */
export interface PodProbes {
  /** Starts the probes that do not run yet. Idempotent. */
  addPod(pod: NodePod): void;
  /** The pod is ending: only readiness still matters. */
  stopLivenessAndStartup(pod: NodePod): void;
  removePod(pod: NodePod): void;
}

/** The stage of a pod's life: synced with its manifest, being ended, or ended. */
export type StatusStage = 'syncing' | 'terminating' | 'terminated';

/** A status as stored now. */
export interface UpdatedStatus {
  readonly status: V1PodStatus;
  /** Compute it again after this time, as the pod's deadline passes then; undefined without a deadline. */
  readonly checkAgainInMs: number | undefined;
}

/** Computes and stores statuses. */
export interface PodStatuses {
  /** Computes, stores and returns the pod's status. `end` replaces phase, reason and message. */
  update(
    pod: NodePod,
    observed: PodStatus,
    stage: StatusStage,
    end?: PodStatusOverride,
  ): Promise<UpdatedStatus>;
  /** The pod is gone: its next status needs no history. */
  forget(podUid: string): void;
  /** The pod is recreated under its uid: its history is another pod's. */
  renew(podUid: string): void;
}

/** Stores the hashes of containers that another agent created. */
export interface ContainerBaselines {
  keep(pod: NodePod, baselines: readonly ContainerBaseline[]): Promise<void>;
}

/** Where the cgroups of pods are: the cgroup_parent of CRI, empty for the runtime's own choice. */
export interface PodCgroupParents {
  /**
   * The parent for a new sandbox of a pod; creates what it needs, as far as this machine allows.
   *
   * Rejects only with CGROUP_DRIVER_CONFLICT: the runtime would refuse the sandbox.
   */
  prepare(pod: NodePod): Promise<string>;
  /**
   * Evaluates a refusal of a sandbox of the default handler. Never rejects.
   *
   * True when the error shows that the runtime wants parents in another form; {@link prepare} returns that
   * from now on.
   */
  learn(error: unknown): Promise<boolean>;
  /**
   * The parent of an existing sandbox, whoever created it and whatever holds for new ones: containers join
   * running ones.
   *
   * Rejects when only the runtime could say, and it does not answer.
   */
  findParent(pod: NodePod, sandbox: SandboxStatus, signal: AbortSignal): Promise<string>;
}

/** Users of pods that are not those of the node. */
export interface PodUsers {
  /** Why sandboxes of a runtime handler can have none, in the kubelet's words; undefined if they can. */
  findProblem(runtimeHandler: string): string | undefined;
  /**
   * The ids of a pod's users on the node. No other pod has them, and they stay the same when the agent restarts.
   *
   * `present`: the ids of its running sandbox; undefined if it has none. Rejects in the kubelet's words if there are
   * none, and for a sandbox whose ids nobody knows: containers with other ones cannot join it.
   */
  take(podUid: string, present: IdRange | 'unknown' | undefined): Promise<IdRange>;
}

/** Limits of whole pods. */
export interface PodLimits {
  /** Raises a pod's limits before its containers grow. Never rejects. */
  grow(pod: NodePod, sandbox: SandboxStatus): Promise<void>;
  /**
   * Lowers a pod's limits after its containers have shrunk. Rejects with RESIZE_NOT_POSSIBLE when it uses
   * more.
   */
  settle(pod: NodePod, sandbox: SandboxStatus): Promise<void>;
}

/** Why the runtime's network is not ready; undefined when it is. */
export type NetworkProblem = () => string | undefined;
