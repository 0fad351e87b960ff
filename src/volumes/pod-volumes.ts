/**
 * The volumes of pods: folders made, checked and given back.
 *
 * In: pods with their volumes. Out: where each volume is on the node, as mounts of containers. It assumes that the
 * folder of the pods belongs to the agent alone, and that a pod's containers have all ended before its volumes are
 * torn down: what is still mounted below a volume keeps it, and is tried again.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/
 *
 * @module
 */
import { chmod, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Container, type VolumeMount } from '../model/container.js';
import { type NodePod } from '../model/node-pod.js';
import { type Volume } from '../model/volume.js';
import { type ContainerMount } from '../runtime/container-mount.js';
import { messageOf, PodloopError } from '../util/errors.js';
import { findMountBelow, parseMountinfo, readOwnMountinfo } from '../util/mountinfo.js';
import { prepareHostPath } from './prepare-host-path.js';

/** What {@link PodVolumes} is made of. */
export interface PodVolumesOptions {
  /** Folder of all pods; each has one of its own below it, named after its uid. */
  readonly podsFolder: string;
  /** The node's table of mounts; /proc/self/mountinfo unless told. */
  readonly readMounts?: () => Promise<string>;
}

const PROPAGATION = {
  None: 'private',
  HostToContainer: 'host-to-container',
  Bidirectional: 'bidirectional',
} as const;

/** As a kubelet: whatever user a container runs as may write to its emptyDir. */
const EMPTY_DIR_MODE = 0o777;

/** Sets up, names and tears down the volumes of pods. Every method is idempotent. */
export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #readMounts: () => Promise<string>;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#readMounts = options.readMounts ?? readOwnMountinfo;
  }

  /** Makes what is missing. Rejects with VOLUME_NOT_READY, naming the volume, when one cannot be had now. */
  async setUp(pod: NodePod, signal: AbortSignal): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) {
      signal.throwIfAborted();
      try {
        await this.#setUpOne(pod, volume);
      } catch (error) {
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${messageOf(error)}`;
        throw new PodloopError('VOLUME_NOT_READY', message, { cause: error });
      }
    }
  }

  /** Where the volumes of one container are, in the order of its volumeMounts. */
  mountsFor(pod: NodePod, container: Container): Promise<readonly ContainerMount[]> {
    const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]));
    const mounts = (container.volumeMounts ?? []).map((mount) =>
      this.#toMount(pod, volumes.get(mount.name)!, mount),
    );
    return Promise.resolve(mounts);
  }

  /** Removes what the pod's volumes held. Rejects with VOLUME_IN_USE while something is mounted below them. */
  async tearDown({ metadata: { uid } }: { readonly metadata: { readonly uid: string } }): Promise<void> {
    const folder = this.#volumesFolder(uid);
    const mounted = findMountBelow(parseMountinfo(await this.#readMounts()), folder);
    if (mounted !== undefined) {
      throw new PodloopError(
        'VOLUME_IN_USE',
        `${mounted.mountPoint} is still mounted; its volume is kept until it is not`,
      );
    }
    await rm(folder, { recursive: true, force: true });
  }

  /** The uids of pods that have volumes here, in no order: also of those that nobody remembers. */
  async findPods(): Promise<string[]> {
    const { podsFolder } = this.#options;
    const names = await readdir(podsFolder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    });
    const found: string[] = [];
    for (const name of names) {
      const volumes = await readdir(this.#volumesFolder(name)).catch(() => []);
      if (volumes.length > 0) found.push(name);
    }
    return found;
  }

  async #setUpOne(pod: NodePod, { name, hostPath }: Volume): Promise<void> {
    if (hostPath !== undefined) {
      await prepareHostPath(hostPath);
      return;
    }
    await makeEmptyDir(this.#emptyDir(pod, name));
  }

  #toMount(pod: NodePod, volume: Volume, mount: VolumeMount): ContainerMount {
    const { mountPath, readOnly = false, mountPropagation = 'None' } = mount;
    return {
      containerPath: resolve('/', mountPath),
      hostPath: volume.hostPath?.path ?? this.#emptyDir(pod, volume.name),
      readOnly,
      propagation: PROPAGATION[mountPropagation],
    };
  }

  #volumesFolder(uid: string): string {
    return join(this.#options.podsFolder, uid, 'volumes');
  }

  #emptyDir({ metadata }: NodePod, name: string): string {
    return join(this.#volumesFolder(metadata.uid), 'kubernetes.io~empty-dir', name);
  }
}

/**
 * Once it is there it is the pod's: databases give their folder a mode of their own and do not start with another. So it
 * appears as it is to be, and whoever is killed in between leaves nothing that looks ready.
 */
async function makeEmptyDir(folder: string): Promise<void> {
  if (await isThere(folder)) return;
  // No volume has a dot in its name.
  const fresh = `${folder}.new`;
  await mkdir(fresh, { recursive: true, mode: 0o750 });
  // Not through mkdir: the process's mask would take bits away.
  await chmod(fresh, EMPTY_DIR_MODE);
  await rename(fresh, folder);
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
