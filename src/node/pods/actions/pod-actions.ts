import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type LimitChange } from '../../runtime/config/limit-change.js';
import { type ContainerStatus, type PodStatus } from '#watch';
import { type ContainerKind } from '#kube/container/restart-rule.js';
import { type ContainerResizes } from '../containers/container-resizes.js';
import { type RestartBackoffOptions } from './restart-backoff.js';

/**
 * What one sync is to do to a pod, as computed by {@link computePodActions}.
 *
 * To be done in this order: stop the whole pod (`killPod`) or else the containers to kill; remove the containers to
 * remove; make the sandbox; start the init containers, one after the other; start the regular containers. When a kill
 * fails nothing is started. When an init container does not start nothing after it is; a sidecar that does not start
 * holds up nobody.
 */
export interface PodActions {
  /** Stop all containers and all sandboxes of the pod. False when nothing of it is alive. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** Why the sandbox there is will not do, in the kubelet's words; undefined when it will. */
  readonly sandboxMessage: string | undefined;
  /** The sandbox to start containers in; undefined when there is none, or `createSandbox` is set. */
  readonly sandboxId: string | undefined;
  /** The attempt of the sandbox to make, or of the one there is. */
  readonly sandboxAttempt: number;
  /** Those that join the pod as it is, before anything else is started; one that does not start holds up nobody. */
  readonly ephemeralContainersToStart: readonly ContainerToStart[];
  /** Init containers and sidecars, in the order of the spec. */
  readonly initContainersToStart: readonly ContainerToStart[];
  /** Regular containers, in the order of the spec. */
  readonly containersToStart: readonly ContainerToStart[];
  /**
   * With `killPod`, which stops them all: only those that their probes end and that nothing takes the place of. They have
   * their own grace period and message then as well.
   */
  readonly containersToKill: readonly ContainerToKill[];
  /** Run, and are to go on with other limits; before anything is started. */
  readonly containersToResize: readonly ContainerToResize[];
  /** Created and never started, and in the way of others. */
  readonly containersToRemove: readonly ContainerToRemove[];
  /** To be started again, later. */
  readonly containersInBackoff: readonly ContainerInBackoff[];
  /** Milliseconds until the first of these may start; undefined when there is none. */
  readonly requeueAfterMs: number | undefined;
  /** Of what another agent made: to be kept, and given again in {@link PodActionInputs.findBaseline}. */
  readonly baselinesToKeep: readonly ContainerBaseline[];
}

/** A container to make and start. */
export interface ContainerToStart {
  readonly kind: ContainerKind;
  readonly container: Container;
  /** Its place in the list of the spec that it is in. */
  readonly index: number;
  /** CRI's metadata.attempt, and the annotation io.kubernetes.container.restartCount. */
  readonly restartCount: number;
  /** For the annotation podloop.dev/restart-delay-ms. */
  readonly restartDelayMs: number;
  /** For the annotation io.kubernetes.container.hash. */
  readonly hash: string;
  /** A container that was created for this and never started: start it, and make none. If that fails, remove it. */
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
  /** As the kubelet words it: `Container b failed liveness probe, will be restarted`. */
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

/** A container that waits to be started again. */
export interface ContainerInBackoff {
  readonly kind: ContainerKind;
  readonly container: Container;
  /** The whole delay, milliseconds. */
  readonly delayMs: number;
  /** What is left of it. Never 0. */
  readonly remainingMs: number;
  /** `back-off 10s restarting failed container=a pod=w_default(UID)`; goes with CrashLoopBackOff. */
  readonly message: string;
}

/** Our hash of what the pod said of a container, or of its sandbox, when it was taken over. */
export interface ContainerBaseline {
  /** Of a container or of a sandbox. */
  readonly containerId: string;
  readonly hash: string;
}

/** What probes have found out, by container id. */
export interface ProbeVerdicts {
  /** The liveness probe has failed as often as it may. */
  hasFailedLiveness(containerId: string): boolean;
  /** The startup probe has failed as often as it may. */
  hasFailedStartup(containerId: string): boolean;
  /** The startup probe has succeeded. Asked only of containers that have one. */
  hasStarted(containerId: string): boolean;
}

/** How long ago things happened to containers; see {@link ContainerAges}. */
export interface RunTimes {
  /** Milliseconds that it has been running, or was. */
  ranForMs(container: ContainerStatus): number;
  /** Milliseconds since it ended; of one in an unknown state, since it is. */
  endedForMs(container: ContainerStatus): number;
}

/** All that {@link computePodActions} looks at. */
export interface PodActionInputs {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly probes: ProbeVerdicts;
  readonly runTimes: RunTimes;
  /** The kubelet's unless told. */
  readonly backoff?: RestartBackoffOptions;
  /** Which limits hold (default: nobody's change). */
  readonly resizes?: Pick<ContainerResizes, 'findChange' | 'isRefused'>;
  /** Our hash of a container or sandbox that another agent made, as of when it was taken over. */
  readonly findBaseline?: (containerId: string) => string | undefined;
  /** Whether a container or sandbox was ended, or was about to be, for another one to take its place (default: none was). */
  readonly isReplaced?: (id: string) => boolean;
  /**
   * The restart count of the last container of a name that is known to have run, for when the runtime no longer has
   * it: from the status that was computed before, or from the names of log files.
   */
  readonly findLastRestartCount?: (containerName: string) => number | undefined;
}
