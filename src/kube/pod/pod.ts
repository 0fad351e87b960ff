/**
 * The desired pod: the fields of v1 Pod that podloop supports, or is prepared to.
 *
 * Plain JSON, as in a manifest: what is absent was not written, unless {@link applyPodDefaults} has been there;
 * quantities are strings in canonical form. What each field does is in the tables of pod-fields.ts.
 *
 * @module
 */
import {
  type Container,
  type EphemeralContainer,
  type ResourceList,
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

/** Who a pod is. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a pod is to be. */
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
  /** Of pods of an API server only; `default` where none is named. */
  readonly serviceAccountName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly securityContext?: PodSecurityContext;
  /** Secrets with logins of registries, each tried for the images that it is for. */
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly setHostnameAsFQDN?: boolean;
  /** What the pod is called inside, in the place of all of these; it has no full name then. */
  readonly hostnameOverride?: string;
  readonly hostAliases?: readonly HostAlias[];
  /** A RuntimeClass of the API server that the pod is from; of a manifest, a handler of the runtime itself. */
  readonly runtimeClassName?: string;
  /** What the pod costs beside its containers, by resource; of pods of an API server only. */
  readonly overhead?: ResourceList;
  /** Whether containers are told in variables of the services of their namespace; of pods of an API server only. */
  readonly enableServiceLinks?: boolean;
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly os?: { readonly name: 'linux' };
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
  /** Of manifests only, for the copies of their pods that an API server is given. */
  readonly tolerations?: readonly Toleration[];
}

/** A taint of the node that does not drive the pod away. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: 'Exists' | 'Equal' | 'Lt' | 'Gt';
  readonly value?: string;
  readonly effect?: '' | 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  readonly tolerationSeconds?: number;
}

/** What a pod requires of its node; what is only preferred, and of other pods, is the scheduler's. */
export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
    };
  };
}

/** All of it has to hold. */
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

/** What holds for all containers of a pod that do not say otherwise. */
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
