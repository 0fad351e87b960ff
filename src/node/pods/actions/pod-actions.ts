import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type LimitChange } from '../../runtime/config/limit-change.js';
import { type ContainerStatus, type PodStatus } from '#watch';
import { type ContainerKind } from '#kube/container/restart-rule.js';
import { type ContainerResizes } from '../containers/container-resizes.js';
import { type RestartBackoffOptions } from './restart-backoff.js';

/**
 * What one sync does to a pod, as computed by {@link computePodActions}.
 *
 * The order is: stop the whole pod (`killPod`), or else the containers to kill; remove the containers to
 * remove; create the sandbox; start the init containers one after the other; start the regular containers. If
 * a kill fails, nothing starts. If an init container does not start, nothing after it does; a sidecar that
 * does not start holds up nothing.
 */
export interface PodActions {
  /** Stop all containers and all sandboxes of the pod. False when nothing of it is alive. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** Why the present sandbox cannot be used, in the kubelet's words; undefined when it can. */
  readonly sandboxMessage: string | undefined;
  /** The sandbox to start containers in; undefined when there is none, or `createSandbox` is set. */
  readonly sandboxId: string | undefined;
  /** The attempt of the sandbox to create, or of the present one. */
  readonly sandboxAttempt: number;
  /**
   * Ephemeral containers join the pod as it is, before anything else starts; one that does not start holds up
   * nothing.
   */
  readonly ephemeralContainersToStart: readonly ContainerToStart[];
  /** Init containers and sidecars, in the order of the spec. */
  readonly initContainersToStart: readonly ContainerToStart[];
  /** Regular containers, in the order of the spec. */
  readonly containersToStart: readonly ContainerToStart[];
  /**
   * With `killPod`, which stops all: only those that fail their probes and are not replaced.
   *
   * They then have their own grace period and message as well.
   */
  readonly containersToKill: readonly ContainerToKill[];
  /** Running containers that continue with other limits; applied before anything starts. */
  readonly containersToResize: readonly ContainerToResize[];
  /** Created but never started, and in the way of others. */
  readonly containersToRemove: readonly ContainerToRemove[];
  /** To be started again later. */
  readonly containersInBackoff: readonly ContainerInBackoff[];
  /** Milliseconds until the first of these may start; undefined when there are none. */
  readonly requeueAfterMs: number | undefined;
  /**
   * Baselines of parts of another agent: to be stored, and returned by {@link PodActionInputs.findBaseline}.
   */
  readonly baselinesToKeep: readonly ContainerBaseline[];
}

/** A container to create and start. */
export interface ContainerToStart {
  readonly kind: ContainerKind;
  readonly container: Container;
  /** Its index in its list of the spec. */
  readonly index: number;
  /** CRI's metadata.attempt, and the annotation io.kubernetes.container.restartCount. */
  readonly restartCount: number;
  /** For the annotation podloop.dev/restart-delay-ms. */
  readonly restartDelayMs: number;
  /** For the annotation io.kubernetes.container.hash. */
  readonly hash: string;
  /**
   * A container that was created for this and never started: start it instead of creating one; if that fails,
   * remove it.
   */
  readonly createdId: string | undefined;
}

/** Why a container is stopped. */
export type KillReason =
  'LivenessProbe' | 'StartupProbe' | 'DefinitionChanged' | 'Resize' | 'Unknown' | 'Duplicate' | 'NotInPod';

/** A container to stop. */
export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  /** What the pod says of it; undefined when it is no longer part of the pod. */
  readonly container: Container | undefined;
  readonly reason: KillReason;
  /** In the kubelet's words: `Container b failed liveness probe, will be restarted`. */
  readonly message: string;
  readonly gracePeriodSeconds: number;
}

/** A container whose limits change while it runs. */
export interface ContainerToResize {
  readonly id: string;
  readonly container: Container;
  readonly change: LimitChange;
}

/** A container to remove; it never ran. */
export interface ContainerToRemove {
  readonly id: string;
  readonly name: string;
}

/** A container that waits for its next start. */
export interface ContainerInBackoff {
  readonly kind: ContainerKind;
  readonly container: Container;
  /** The whole delay, in milliseconds. */
  readonly delayMs: number;
  /** The remaining delay. Never 0. */
  readonly remainingMs: number;
  /** `back-off 10s restarting failed container=a pod=w_default(UID)`; goes with CrashLoopBackOff. */
  readonly message: string;
}

/** podloop's hash of what the pod said of a container or its sandbox when it was adopted. */
export interface ContainerBaseline {
  /** The id of a container or of a sandbox. */
  readonly containerId: string;
  readonly hash: string;
}

/** The results of probes, by container id. */
export interface ProbeVerdicts {
  /** The liveness probe has failed as often as its threshold allows. */
  hasFailedLiveness(containerId: string): boolean;
  /** The startup probe has failed as often as its threshold allows. */
  hasFailedStartup(containerId: string): boolean;
  /** The startup probe has succeeded. Asked only of containers that have one. */
  hasStarted(containerId: string): boolean;
}

/** How long ago things happened to containers; see {@link ContainerAges}. */
export interface RunTimes {
  /** Milliseconds for which it has been running, or ran. */
  ranForMs(container: ContainerStatus): number;
  /** Milliseconds since it ended, or for an unknown state, since that began. */
  endedForMs(container: ContainerStatus): number;
}

/** All inputs of {@link computePodActions}. */
export interface PodActionInputs {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly probes: ProbeVerdicts;
  readonly runTimes: RunTimes;
  /** Default: the kubelet's. */
  readonly backoff?: RestartBackoffOptions;
  /** Which limits apply (default: no changes). */
  readonly resizes?: Pick<ContainerResizes, 'findChange' | 'isRefused'>;
  /** podloop's hash of a container or sandbox of another agent, at adoption. */
  readonly findBaseline?: (containerId: string) => string | undefined;
  /**
   * Whether a container or sandbox was ended, or was about to be, in order to be replaced (default: none
   * was).
   */
  readonly isReplaced?: (id: string) => boolean;
  /**
   * The restart count of the last container of a name that is known to have run, if the runtime has lost it.
   *
   * It comes from the previous status, or from the names of log files.
   */
  readonly findLastRestartCount?: (containerName: string) => number | undefined;
  /** All containers are being restarted: one that asked for it does not start alone (default: they are not). */
  readonly isRestartingAll?: boolean;
}
