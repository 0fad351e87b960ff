import { type ObjectFieldSelector, type ResourceFieldSelector } from '../objects/env-source.js';

/** Sources that only pods of an API server can name, and that are unsupported here. */
export const FOREIGN_VOLUME_SOURCES = [
  ...(['csi', 'nfs', 'iscsi', 'fc', 'rbd', 'cephfs', 'flexVolume', 'azureFile', 'azureDisk'] as const),
  ...(['awsElasticBlockStore', 'gcePersistentDisk', 'cinder', 'vsphereVolume', 'portworxVolume'] as const),
  ...([
    'gitRepo',
    'glusterfs',
    'flocker',
    'quobyte',
    'photonPersistentDisk',
    'scaleIO',
    'storageos',
  ] as const),
];

/** Nothing below them is inspected. */
type ForeignSources = { readonly [Source in (typeof FOREIGN_VOLUME_SOURCES)[number]]?: unknown };

/** A v1 Volume: a name and exactly one source, once defaults are applied. */
export interface Volume extends ForeignSources {
  readonly name: string;
  readonly emptyDir?: EmptyDirVolume;
  readonly hostPath?: HostPathVolume;
  readonly configMap?: ConfigMapVolume;
  readonly secret?: SecretVolume;
  readonly downwardAPI?: DownwardApiVolume;
  readonly projected?: ProjectedVolume;
  /** In a manifest: a volume of this node by its name. */
  readonly persistentVolumeClaim?: PersistentVolumeClaimVolume;
  readonly image?: ImageVolume;
  /** Only of pods of an API server: a claim that is made for the pod, and named after pod and volume. */
  readonly ephemeral?: EphemeralVolume;
}

/** A v1 PersistentVolumeClaim of the pod's namespace. */
export interface PersistentVolumeClaimVolume {
  readonly claimName: string;
  readonly readOnly?: boolean;
}

/** The files of an image, which containers cannot change. */
export interface ImageVolume {
  readonly reference: string;
  readonly pullPolicy?: 'Always' | 'Never' | 'IfNotPresent';
}

/** Its request is in the claim. */
export interface EphemeralVolume {
  readonly volumeClaimTemplate?: never;
}

/** A folder that lives as long as the pod. */
export interface EmptyDirVolume {
  /** Empty means the node's disk. */
  readonly medium?: '' | 'Memory';
  /** A quantity in canonical form. */
  readonly sizeLimit?: string;
  /** Of the folder, with the sticky bit; any user may write to it by default. */
  readonly mode?: number;
}

/** What must exist at a host path before it is mounted; empty for no check. */
export type HostPathType =
  '' | 'DirectoryOrCreate' | 'Directory' | 'FileOrCreate' | 'File' | 'Socket' | 'CharDevice' | 'BlockDevice';

/** A file or folder of the node. */
export interface HostPathVolume {
  readonly path: string;
  readonly type?: HostPathType;
}

/** Maps an entry of a ConfigMap or Secret to a file. */
export interface KeyToPath {
  readonly key: string;
  /** Relative, without `..`. */
  readonly path: string;
  /** Permission bits, 0 to 0o777. */
  readonly mode?: number;
}

/** The entries of a ConfigMap as files. */
export interface ConfigMapVolume {
  readonly name: string;
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

/** The entries of a Secret as files. */
export interface SecretVolume {
  readonly secretName: string;
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

/** A file that contains a fact about the pod. */
export interface DownwardApiFile {
  readonly path: string;
  readonly fieldRef?: ObjectFieldSelector;
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly mode?: number;
}

/** Facts about the pod as files. */
export interface DownwardApiVolume {
  readonly items?: readonly DownwardApiFile[];
  readonly defaultMode?: number;
}

/** A ConfigMap or Secret in a projected volume. */
export interface ObjectProjection {
  readonly name: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

/** One part of a projected volume. */
export interface VolumeProjection {
  readonly configMap?: ObjectProjection;
  readonly secret?: ObjectProjection;
  readonly downwardAPI?: { readonly items?: readonly DownwardApiFile[] };
  /** Only of pods of an API server, like those below it, which are unsupported here. */
  readonly serviceAccountToken?: ServiceAccountTokenProjection;
  readonly clusterTrustBundle?: unknown;
  readonly podCertificate?: unknown;
}

/** A token of the pod's service account, bound to the pod. */
export interface ServiceAccountTokenProjection {
  /** The intended recipient (default: the API server itself). */
  readonly audience?: string;
  /** Its lifetime in seconds (default: 3600). */
  readonly expirationSeconds?: number;
  /** The path of its file, below the volume. */
  readonly path: string;
}

/** Several sources in one folder. */
export interface ProjectedVolume {
  readonly sources?: readonly VolumeProjection[];
  readonly defaultMode?: number;
}
