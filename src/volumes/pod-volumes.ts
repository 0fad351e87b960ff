/**
 * The volumes of pods: made, checked, kept up to date and given back.
 *
 * In: pods with their volumes. Out: where each volume is on the node, as mounts of containers. It assumes that the
 * folder of the pods belongs to the agent alone, and that a pod's containers have all ended before its volumes are
 * torn down: what is still mounted below a volume keeps it, and is tried again.
 *
 * Nothing is remembered of what was made: the disk and the table of mounts say it, to an agent that was started anew as
 * well. What differs between the kinds of volumes is in a {@link VolumeKind} each.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/
 *
 * @module
 */
import { readdir, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Container, type VolumeMount } from '../model/container.js';
import { type NodePod } from '../model/node-pod.js';
import { type PodEventRecorder } from '../model/pod-event-recorder.js';
import { type Volume } from '../model/volume.js';
import { type ContainerMount } from '../runtime/container-mount.js';
import { messageOf, PodloopError } from '../util/errors.js';
import { makeFolder } from '../util/make-folder.js';
import { findMountBelow, parseMountinfo, readOwnMountinfo } from '../util/mountinfo.js';
import { type PodVolume, sourceOf, type VolumeKind, type VolumeKinds } from './volume-kind.js';
import { VolumePaths } from './volume-paths.js';

/** What {@link PodVolumes} is made of. */
export interface PodVolumesOptions {
  /** Folder of all pods; each has one of its own below it, named after its uid. */
  readonly podsFolder: string;
  readonly kinds: VolumeKinds;
  /** Where it is told which volume cannot be had, and why. */
  readonly events: PodEventRecorder;
  /** The node's table of mounts; /proc/self/mountinfo unless told. */
  readonly readMounts?: () => Promise<string>;
}

const PROPAGATION = {
  None: 'private',
  HostToContainer: 'host-to-container',
  Bidirectional: 'bidirectional',
} as const;

/** As a kubelet's. */
const FOLDER_MODE = 0o750;

/** Sets up, names and tears down the volumes of pods. Every method is idempotent. */
export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #paths: VolumePaths;
  readonly #readMounts: () => Promise<string>;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#paths = new VolumePaths(options.podsFolder);
    this.#readMounts = options.readMounts ?? readOwnMountinfo;
  }

  /**
   * Makes what is missing and brings the rest up to date, each volume whatever becomes of the others; what cannot be
   * done is told of each in the pod's events. Rejects with VOLUME_NOT_READY when a volume cannot be had at all.
   */
  async setUp(pod: NodePod, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const work = (pod.spec.volumes ?? []).map((volume) => this.#setUpOne(pod, volume, signal));
    const missing = (await Promise.all(work)).filter((problem) => problem !== undefined);
    signal.throwIfAborted();
    if (missing.length === 0) return;
    throw new PodloopError('VOLUME_NOT_READY', missing.map(({ message }) => message).join('; '), {
      cause: missing[0]!.cause,
    });
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
    const folder = this.#paths.volumesFolder(uid);
    const mounted = findMountBelow(parseMountinfo(await this.#readMounts()), folder);
    if (mounted !== undefined) {
      throw new PodloopError(
        'VOLUME_IN_USE',
        `${mounted.mountPoint} is still mounted; its volume is kept until it is not`,
      );
    }
    await rm(folder, { recursive: true, force: true });
    for (const kind of Object.values(this.#options.kinds)) kind.forget?.(uid);
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
      const volumes = await readdir(this.#paths.volumesFolder(name)).catch(() => []);
      if (volumes.length > 0) found.push(name);
    }
    return found;
  }

  /** What is missing, when the volume cannot be had. */
  async #setUpOne(
    pod: NodePod,
    volume: Volume,
    signal: AbortSignal,
  ): Promise<{ readonly message: string; readonly cause: unknown } | undefined> {
    const kind = this.#kindOf(volume);
    const work = this.#workOf(pod, volume, kind);
    try {
      if (kind.folderName !== undefined) {
        await makeFolder(this.#paths.kindFolder(pod.metadata.uid, kind.folderName), FOLDER_MODE);
      }
      await kind.setUp(work, signal);
      return undefined;
    } catch (cause) {
      if (signal.aborted) return undefined;
      const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${messageOf(cause)}`;
      this.#options.events.record(pod.metadata, { type: 'Warning', reason: 'FailedMount', message });
      // Containers go on with what is there, and those that are restarted as well.
      return (await kind.isReady(work).catch(() => false)) ? undefined : { message, cause };
    }
  }

  #toMount(pod: NodePod, volume: Volume, mount: VolumeMount): ContainerMount {
    const { mountPath, readOnly = false, mountPropagation = 'None' } = mount;
    const kind = this.#kindOf(volume);
    return {
      containerPath: resolve('/', mountPath),
      hostPath: kind.hostPathOf(this.#workOf(pod, volume, kind)),
      readOnly: readOnly || kind.isReadOnly === true,
      propagation: PROPAGATION[mountPropagation],
    };
  }

  #kindOf(volume: Volume): VolumeKind {
    const source = sourceOf(volume);
    const kind = this.#options.kinds[source];
    // Manifests with others are refused before they come here.
    if (kind === undefined) throw new Error(`volumes of the kind ${source} are not supported`);
    return kind;
  }

  #workOf(pod: NodePod, volume: Volume, { folderName = '' }: VolumeKind): PodVolume {
    return { pod, volume, folder: this.#paths.volumeFolder(pod.metadata.uid, folderName, volume.name) };
  }
}
