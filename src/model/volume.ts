import { type ObjectFieldSelector, type ResourceFieldSelector } from './env-source.js';

/** A v1 Volume: a name and exactly one source, once defaults are applied. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: EmptyDirVolume;
  readonly hostPath?: HostPathVolume;
  readonly configMap?: ConfigMapVolume;
  readonly secret?: SecretVolume;
  readonly downwardAPI?: DownwardApiVolume;
  readonly projected?: ProjectedVolume;
}

/** A folder that lives as long as the pod. */
export interface EmptyDirVolume {
  /** Empty: the node's disk. */
  readonly medium?: '' | 'Memory';
  /** A quantity in canonical form. */
  readonly sizeLimit?: string;
}

/** What has to be at a host path before it is mounted; empty: no check. */
export type HostPathType =
  '' | 'DirectoryOrCreate' | 'Directory' | 'FileOrCreate' | 'File' | 'Socket' | 'CharDevice' | 'BlockDevice';

/** A file or folder of the node. */
export interface HostPathVolume {
  readonly path: string;
  readonly type?: HostPathType;
}

/** Which entry of a ConfigMap or Secret goes into which file. */
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

/** A file with a fact about the pod in it. */
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
}

/** Several sources in one folder. */
export interface ProjectedVolume {
  readonly sources?: readonly VolumeProjection[];
  readonly defaultMode?: number;
}
