/**
 * The objects of Kubernetes' API as a client reads them.
 *
 * Every field may be missing. Fields that are not declared here are present all the same, so that whole
 * objects can be printed.
 *
 * @module
 */

/** Any object, with the fields that all have. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMetadata;
  /** Only of a list. */
  readonly items?: readonly KubeObject[];
}

export interface ObjectMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly {
    readonly kind?: string;
    readonly name?: string;
    readonly uid?: string;
  }[];
}

export interface PodObject extends KubeObject {
  readonly spec?: PodSpecObject;
  readonly status?: PodStatusObject;
}

export interface PodSpecObject {
  readonly containers?: readonly ContainerObject[];
  readonly initContainers?: readonly ContainerObject[];
  readonly ephemeralContainers?: readonly ContainerObject[];
  readonly volumes?: readonly VolumeObject[];
  readonly nodeName?: string;
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly runtimeClassName?: string;
  readonly serviceAccountName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly TolerationObject[];
  readonly readinessGates?: readonly { readonly conditionType?: string }[];
  readonly resources?: ResourcesObject;
  readonly securityContext?: { readonly seccompProfile?: SeccompObject };
}

export interface SeccompObject {
  readonly type?: string;
  readonly localhostProfile?: string;
}

export interface TolerationObject {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface ResourcesObject {
  readonly limits?: Readonly<Record<string, string | number>>;
  readonly requests?: Readonly<Record<string, string | number>>;
}

export interface ContainerObject {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: string;
  readonly tty?: boolean;
  readonly stdin?: boolean;
  readonly ports?: readonly PortObject[];
  readonly resources?: ResourcesObject;
  readonly livenessProbe?: ProbeObject;
  readonly readinessProbe?: ProbeObject;
  readonly startupProbe?: ProbeObject;
  readonly env?: readonly EnvObject[];
  readonly envFrom?: readonly EnvFromObject[];
  readonly volumeMounts?: readonly MountObject[];
  readonly securityContext?: { readonly seccompProfile?: SeccompObject };
}

export interface PortObject {
  readonly name?: string;
  readonly containerPort?: number;
  readonly hostPort?: number;
  readonly protocol?: string;
}

export interface ProbeObject {
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: {
    readonly scheme?: string;
    readonly host?: string;
    readonly port?: string | number;
    readonly path?: string;
  };
  readonly tcpSocket?: { readonly host?: string; readonly port?: string | number };
  readonly grpc?: { readonly port?: number; readonly service?: string };
}

export interface KeyRefObject {
  readonly name?: string;
  readonly key?: string;
  readonly optional?: boolean;
}

export interface EnvObject {
  readonly name?: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly apiVersion?: string; readonly fieldPath?: string };
    readonly resourceFieldRef?: {
      readonly containerName?: string;
      readonly resource?: string;
      readonly divisor?: string | number;
    };
    readonly configMapKeyRef?: KeyRefObject;
    readonly secretKeyRef?: KeyRefObject;
  };
}

export interface EnvFromObject {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name?: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name?: string; readonly optional?: boolean };
}

export interface MountObject {
  readonly name?: string;
  readonly mountPath?: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

export interface FileItemObject {
  readonly path?: string;
  readonly fieldRef?: { readonly fieldPath?: string };
  readonly resourceFieldRef?: { readonly resource?: string };
}

export interface VolumeObject {
  readonly name?: string;
  readonly hostPath?: { readonly path?: string; readonly type?: string };
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string | number };
  readonly secret?: { readonly secretName?: string; readonly optional?: boolean };
  readonly configMap?: { readonly name?: string; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly FileItemObject[] };
  readonly projected?: { readonly sources?: readonly ProjectedSourceObject[] };
  readonly persistentVolumeClaim?: { readonly claimName?: string; readonly readOnly?: boolean };
}

export interface ProjectedSourceObject {
  readonly secret?: { readonly name?: string; readonly optional?: boolean };
  readonly configMap?: { readonly name?: string; readonly optional?: boolean };
  readonly downwardAPI?: unknown;
}

export interface PodStatusObject {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip?: string }[];
  readonly qosClass?: string;
  readonly startTime?: string;
  readonly nominatedNodeName?: string;
  readonly conditions?: readonly ConditionObject[];
  readonly containerStatuses?: readonly ContainerStatusObject[];
  readonly initContainerStatuses?: readonly ContainerStatusObject[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatusObject[];
}

export interface ConditionObject {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface ContainerStatusObject {
  readonly name?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly image?: string;
  readonly imageID?: string;
  readonly containerID?: string;
  readonly state?: ContainerStateObject;
  readonly lastState?: ContainerStateObject;
}

export interface ContainerStateObject {
  readonly running?: { readonly startedAt?: string };
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: {
    readonly exitCode?: number;
    readonly signal?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly startedAt?: string | null;
    readonly finishedAt?: string | null;
  };
}

export interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly reportingComponent?: string;
  readonly involvedObject?: {
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly fieldPath?: string;
  };
}

export interface ConfigMapObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface NodeObject extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly ConditionObject[];
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly capacity?: Readonly<Record<string, string | number>>;
    readonly allocatable?: Readonly<Record<string, string | number>>;
    readonly nodeInfo?: {
      readonly kubeletVersion?: string;
      readonly osImage?: string;
      readonly kernelVersion?: string;
      readonly containerRuntimeVersion?: string;
    };
  };
}
