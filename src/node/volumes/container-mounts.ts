import { resolve } from 'node:path';
import { type Container, type VolumeMount } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { isRecursivelyReadOnly } from '#kube/container/recursive-read-only.js';
import { type Volume } from '#kube/pod/volume.js';
import { type ContainerMount } from '../runtime/config/container-mount.js';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { UnsafePathError } from '#base/fs/open-below.js';
import { type ContainerVariables, resolveSubPath } from './sub-path/resolve-sub-path.js';
import { type OpenVolume, type SubPathMounts } from './sub-path/sub-path-mounts.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';
import { type VolumePaths } from './volume-paths.js';

/** Options of {@link ContainerMounts}. */
export interface ContainerMountsOptions {
  readonly subPaths: Pick<SubPathMounts, 'mount' | 'mountWhole'>;
  /** The present paths: without links once the folder of the pods exists. */
  readonly paths: () => VolumePaths;
  readonly kindOf: (volume: Volume) => VolumeKind;
  readonly workOf: (pod: NodePod, volume: Volume) => PodVolume;
  /** Whether containers of a pod can have recursive read-only mounts (default: none can). */
  readonly canMountRecursivelyReadOnly?: ((pod: NodePod) => boolean) | undefined;
}

/** A container that is about to start, and the variables in its volume paths. */
export interface ContainerToMountFor {
  readonly pod: NodePod;
  readonly container: Container;
  readonly variables: ContainerVariables;
}

const PROPAGATION = {
  None: 'private',
  HostToContainer: 'host-to-container',
  Bidirectional: 'bidirectional',
} as const;

/** Converts a container's volumeMounts for the runtime; mounts subpaths of volumes for that. */
export class ContainerMounts {
  readonly #options: ContainerMountsOptions;

  constructor(options: ContainerMountsOptions) {
    this.#options = options;
  }

  /**
   * In the order of the container's volumeMounts. Rejects in the kubelet's words when a subpath does not
   * exist.
   */
  async make(start: ContainerToMountFor): Promise<readonly ContainerMount[]> {
    const { pod, container } = start;
    const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]));
    const mounts: ContainerMount[] = [];
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      mounts.push(await this.#makeOne(start, volumes.get(mount.name)!, mount, index));
    }
    return mounts;
  }

  async #makeOne(
    start: ContainerToMountFor,
    volume: Volume,
    mount: VolumeMount,
    index: number,
  ): Promise<ContainerMount> {
    const { kindOf, workOf } = this.#options;
    const { mountPath, readOnly = false, mountPropagation = 'None' } = mount;
    const kind = kindOf(volume);
    const work = workOf(start.pod, volume);
    const open = kind.open && (() => kind.open!(work));
    const subPath = resolveSubPath(mount, start.variables);
    let hostPath = kind.hostPathOf(work);
    const { image } = volume;
    if (image === undefined && subPath !== undefined) {
      hostPath = await this.#mountPart(start, { mount, index, volume: open ?? hostPath, subPath });
    } else if (open !== undefined) hostPath = await this.#mountWhole(start, mount, index, open);
    return {
      containerPath: resolve('/', mountPath),
      hostPath,
      ...(image && { image: { reference: image.reference, subPath: subPath ?? '' } }),
      readOnly: readOnly || volume.persistentVolumeClaim?.readOnly === true || kind.isReadOnly === true,
      ...(this.#isRecursive(start.pod, mount) ? { recursiveReadOnly: true } : {}),
      propagation: PROPAGATION[mountPropagation],
    };
  }

  /** Where the volume is mounted. */
  async #mountWhole(
    { pod, container }: ContainerToMountFor,
    { name, mountPropagation }: VolumeMount,
    index: number,
    open: OpenVolume,
  ): Promise<string> {
    const { subPaths, paths } = this.#options;
    const target = paths().hostPath(pod.metadata.uid, name, container.name, index);
    await subPaths.mountWhole({ open, isBidirectional: mountPropagation === 'Bidirectional', target });
    return target;
  }

  /** Where the subpath is mounted. */
  async #mountPart(
    { pod, container }: ContainerToMountFor,
    part: {
      readonly mount: VolumeMount;
      readonly index: number;
      readonly volume: string | OpenVolume;
      readonly subPath: string;
    },
  ): Promise<string> {
    const { subPaths, paths } = this.#options;
    const { mount, index, volume, subPath } = part;
    const target = paths().subPath(pod.metadata.uid, mount.name, container.name, index);
    try {
      await subPaths.mount({ volume, subPath, target });
      return target;
    } catch (cause) {
      const words = `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}"`;
      const { subPathExpr } = mount;
      throw new Error(
        `${words}: ${subPathExpr === undefined ? messageOf(cause) : explainExpanded(subPathExpr, cause)}`,
      );
    }
  }

  #isRecursive(pod: NodePod, mount: VolumeMount): boolean {
    const isSupported = this.#options.canMountRecursivelyReadOnly?.(pod) === true;
    const isRecursive = isRecursivelyReadOnly(mount, isSupported);
    if (isRecursive !== undefined) return isRecursive;
    const words = `volume "${mount.name}" requested recursive read-only mode, but it is not supported by the runtime`;
    throw new Error(`failed to resolve recursive read-only mode: ${words}`);
  }
}

/** Omits the expanded path and parts of it: variables may contain Secrets. */
function explainExpanded(expression: string, cause: unknown): string {
  if (cause instanceof UnsafePathError) return `${expression} leads out of the volume`;
  return `${expression} cannot be opened (${systemCodeOf(cause) || 'unknown error'})`;
}
