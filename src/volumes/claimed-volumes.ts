import { type NodePod } from '../model/node-pod.js';
import { type HostPathType, type Volume } from '../model/volume.js';
import { giveToGroup } from './give-to-group.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** Where on this node a claimed volume is. */
export interface ClaimedPlace {
  /** `local`: a folder that is there; it gets the pod's group. `hostPath`: as a volume of that kind. */
  readonly kind: 'local' | 'hostPath';
  readonly path: string;
  /** What has to be at a hostPath, or is made there; empty: no check. */
  readonly type: string;
}

/** Who knows what pods have claimed. */
export interface VolumeClaimSource {
  /** Rejects with an Error that says why the volume cannot be had here. */
  getClaimed(pod: NodePod, volume: Volume, signal: AbortSignal): Promise<ClaimedPlace>;
}

/** What {@link ClaimedVolumes} works with. */
export interface ClaimedVolumesOptions {
  readonly claims: VolumeClaimSource;
  readonly hostPath: VolumeKind;
}

/**
 * Persistent volumes that lie on the node: persistentVolumeClaim, and ephemeral, which is a claim that was made for the pod.
 *
 * Nothing of them is the pod's, and nothing of them is ever taken away. What a pod has claimed is asked for once; after a
 * restart of the agent once more.
 */
export class ClaimedVolumes implements VolumeKind {
  readonly folderName = undefined;
  readonly #options: ClaimedVolumesOptions;
  /** By pod and by name of the volume. */
  readonly #found = new Map<string, Map<string, ClaimedPlace>>();

  constructor(options: ClaimedVolumesOptions) {
    this.#options = options;
  }

  async setUp(work: PodVolume, signal: AbortSignal): Promise<void> {
    const { claims, hostPath } = this.#options;
    const { pod, volume } = work;
    const known = this.#find(work);
    const place = known ?? (await claims.getClaimed(pod, volume, signal));
    await hostPath.setUp(asHostPath(work, place), signal);
    if (known !== undefined) return;
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    if (place.kind === 'local' && fsGroup !== undefined && volume.persistentVolumeClaim?.readOnly !== true) {
      await giveToGroup(place.path, fsGroup, { policy: fsGroupChangePolicy ?? 'Always', signal });
    }
    const found = this.#found.get(pod.metadata.uid) ?? new Map<string, ClaimedPlace>();
    this.#found.set(pod.metadata.uid, found.set(volume.name, place));
  }

  isReady(work: PodVolume): Promise<boolean> {
    return Promise.resolve(this.#find(work) !== undefined);
  }

  hostPathOf(work: PodVolume): string {
    const place = this.#find(work);
    if (place === undefined) throw new Error(`volume "${work.volume.name}" was not set up`);
    return place.path;
  }

  forget(podUid: string): void {
    this.#found.delete(podUid);
  }

  #find({ pod, volume }: PodVolume): ClaimedPlace | undefined {
    return this.#found.get(pod.metadata.uid)?.get(volume.name);
  }
}

function asHostPath(work: PodVolume, { kind, path, type }: ClaimedPlace): PodVolume {
  const wanted = kind === 'local' ? 'Directory' : (type as HostPathType);
  return { ...work, volume: { name: work.volume.name, hostPath: { path, type: wanted } } };
}
