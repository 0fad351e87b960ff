/**
 * The desired pod: the fields of v1 Pod that are supported or planned.
 *
 * Plain JSON, as in a manifest. An absent field was not written, unless {@link applyPodDefaults} has been
 * applied. Quantities are strings in canonical form. The tables of pod-fields.ts say what each field does.
 *
 * @module
 */
import {
  type Container,
  type EphemeralContainer,
  type ResourceList,
  type ResourceRequirements,
  type RestartPolicy,
  type SeLinuxOptions,
  type SecurityProfile,
} from '../container/container.js';
import { type Volume } from './volume.js';

/** A v1 Pod without its status. */
export interface Pod {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
}

/** Identifies a pod. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The desired state of a pod. */
export interface PodSpec {
  readonly volumes?: readonly Volume[];
  readonly initContainers?: readonly Container[];
  /** Never empty. */
  readonly containers: readonly Container[];
  readonly ephemeralContainers?: readonly EphemeralContainer[];
  readonly restartPolicy?: RestartPolicy;
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly dnsPolicy?: 'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None';
  readonly dnsConfig?: PodDnsConfig;
  readonly nodeName?: string;
  /** Only of pods of an API server (default: `default`). */
  readonly serviceAccountName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly shareProcessNamespace?: boolean;
  /** False: root and the other users of its containers are nobody on the node. */
  readonly hostUsers?: boolean;
  readonly securityContext?: PodSecurityContext;
  /** Secrets with registry credentials, each tried for the images that it matches. */
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly setHostnameAsFQDN?: boolean;
  /** The host name inside the pod, in place of all of these; there is no full name then. */
  readonly hostnameOverride?: string;
  readonly hostAliases?: readonly HostAlias[];
  /** A RuntimeClass of the pod's API server; in a manifest, a handler of the runtime itself. */
  readonly runtimeClassName?: string;
  /** What its containers have together: see pod-level-resources.ts. */
  readonly resources?: ResourceRequirements;
  /** The pod's overhead beside its containers, by resource; only of pods of an API server. */
  readonly overhead?: ResourceList;
  /** Whether containers get variables for the services of their namespace; only of pods of an API server. */
  readonly enableServiceLinks?: boolean;
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly os?: { readonly name: 'linux' };
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
  /** Only of manifests, for the mirror pods on an API server. */
  readonly tolerations?: readonly Toleration[];
  /** Only of manifests: the pod waits until an edit takes them off. */
  readonly schedulingGates?: readonly SchedulingGate[];
}

/** What keeps a pod from being started. */
export interface SchedulingGate {
  readonly name: string;
}

/** A taint of the node that the pod tolerates. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: 'Exists' | 'Equal' | 'Lt' | 'Gt';
  readonly value?: string;
  readonly effect?: '' | 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  readonly tolerationSeconds?: number;
}

/** What a pod requires of its node; preferences and rules about other pods are the scheduler's. */
export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
    };
  };
}

/** All conditions have to be met. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly SelectorRequirement[];
  readonly matchFields?: readonly SelectorRequirement[];
}

/** One condition on a label or a field. */
export interface SelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** Additions to /etc/resolv.conf. */
export interface PodDnsConfig {
  readonly nameservers?: readonly string[];
  readonly searches?: readonly string[];
  readonly options?: readonly { readonly name: string; readonly value?: string }[];
}

/** A line of /etc/hosts. */
export interface HostAlias {
  readonly ip: string;
  readonly hostnames?: readonly string[];
}

/** Defaults for all containers of a pod. */
export interface PodSecurityContext {
  readonly seLinuxOptions?: SeLinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict';
  readonly fsGroup?: number;
  readonly fsGroupChangePolicy?: 'OnRootMismatch' | 'Always';
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
}
