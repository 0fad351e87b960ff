import { type EnvFromSource, type EnvVar } from '../objects/env-source.js';

/** A v1 Container: a regular one, an init container, or (init with restartPolicy Always) a sidecar. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly ports?: readonly ContainerPort[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly env?: readonly EnvVar[];
  readonly resources?: ResourceRequirements;
  readonly resizePolicy?: readonly ContainerResizePolicy[];
  /** Overrides the pod's policy. An init container with `Always` is a sidecar. */
  readonly restartPolicy?: RestartPolicy;
  readonly restartPolicyRules?: readonly ContainerRestartRule[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: Lifecycle;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  readonly imagePullPolicy?: ImagePullPolicy;
  readonly securityContext?: SecurityContext;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
}

/**
 * A v1 EphemeralContainer: one that joins a running pod for debugging, and is started once.
 *
 * Ports, resources, probes, hooks and a restart policy are not allowed.
 */
export interface EphemeralContainer extends Container {
  /** The container whose processes it sees (default: only its own). */
  readonly targetContainerName?: string;
}

/** When a container that ended is restarted. */
export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/** When an image is fetched. */
export type ImagePullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** A port that a container listens on, and optionally a port of the node that is forwarded to it. */
export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP';
}

/** Amounts by resource name (`cpu`, `memory`), each a quantity in canonical form. */
export type ResourceList = Readonly<Record<string, string>>;

/** The maximum that a container may use, and the amount guaranteed to it. */
export interface ResourceRequirements {
  readonly limits?: ResourceList;
  readonly requests?: ResourceList;
}

/** Whether a change of a resource needs a restart. */
export interface ContainerResizePolicy {
  readonly resourceName: 'cpu' | 'memory';
  readonly restartPolicy: 'NotRequired' | 'RestartContainer';
}

/** An exit after which the container, or all of its pod, is restarted regardless of its policy. */
export interface ContainerRestartRule {
  readonly action: 'Restart' | 'RestartAllContainers';
  readonly exitCodes: ContainerRestartExitCodes;
}

/** The exit codes of a rule: these, or all others. Without values, `In` means none and `NotIn` all. */
export interface ContainerRestartExitCodes {
  readonly operator: 'In' | 'NotIn';
  readonly values?: readonly number[];
}

/** The mount of a volume in a container. */
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  /** Whether mounts below it are read-only as well. */
  readonly recursiveReadOnly?: 'Disabled' | 'IfPossible' | 'Enabled';
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional';
}

/** Runs a command in the container. */
export interface ExecAction {
  readonly command: readonly string[];
}

/** Sends a request to an HTTP server; `port` is a number or the name of a port of the container. */
export interface HttpGetAction {
  readonly path?: string;
  readonly port: number | string;
  readonly host?: string;
  readonly scheme?: 'HTTP' | 'HTTPS';
  readonly httpHeaders?: readonly { readonly name: string; readonly value?: string }[];
}

/** Opens a TCP connection. */
export interface TcpSocketAction {
  readonly port: number | string;
  readonly host?: string;
}

/** Calls gRPC's health service. */
export interface GrpcAction {
  readonly port: number;
  readonly service?: string;
}

/** A check of a container: exactly one of exec, httpGet, tcpSocket and grpc. Times are in seconds. */
export interface Probe {
  readonly exec?: ExecAction;
  readonly httpGet?: HttpGetAction;
  readonly tcpSocket?: TcpSocketAction;
  readonly grpc?: GrpcAction;
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  readonly terminationGracePeriodSeconds?: number;
}

/** A hook: exactly one of these. */
export interface LifecycleHandler {
  readonly exec?: ExecAction;
  readonly httpGet?: HttpGetAction;
  readonly tcpSocket?: TcpSocketAction;
  readonly sleep?: { readonly seconds: number };
}

/** Hooks of a container. */
export interface Lifecycle {
  readonly postStart?: LifecycleHandler;
  readonly preStop?: LifecycleHandler;
  readonly stopSignal?: string;
}

/** A seccomp or AppArmor profile. */
export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  /** With `Localhost`: a file below the node's folder of profiles, or the name of a loaded profile. */
  readonly localhostProfile?: string;
}

/** SELinux labels. */
export interface SeLinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

/** Privileges and restrictions of a container. */
export interface SecurityContext {
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly privileged?: boolean;
  readonly seLinuxOptions?: SeLinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly procMount?: 'Default' | 'Unmasked';
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
}
