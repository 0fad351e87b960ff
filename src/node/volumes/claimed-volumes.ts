import { realpath, stat } from 'node:fs/promises';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type HostPathType, type Volume } from '#kube/pod/volume.js';
import { abortable } from '#base/async/abortable.js';
import { syncPath } from '#base/fs/whole-file.js';
import { type ClaimMarks } from './claim-marks.js';
import { giveToGroup } from './give-to-group.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** Where on this node a claimed volume is. */
export interface ClaimedPlace {
  /** That of the PersistentVolume. */
  readonly name: string;
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
  readonly marks: ClaimMarks;
  /** Where it is told that a volume is another group's. */
  readonly events: PodEventRecorder;
}

/**
 * Persistent volumes that lie on the node: persistentVolumeClaim, and ephemeral, which is a claim that was made for the pod.
 *
 * Nothing of them is the pod's, and nothing of them is ever taken away. What a pod has claimed is asked for once; after a
 * restart of the agent once more.
 *
 * A local one is given to the pod's group, as by a kubelet, before anything of the pod starts, and only then: whatever agent
 * comes later leaves alone what the pod has made of its files since. While another pod has it, too, it stays as that has it.
 */
export class ClaimedVolumes implements VolumeKind {
  readonly folderName = undefined;
  readonly #options: ClaimedVolumesOptions;
  /** By pod and by name of the volume. */
  readonly #found = new Map<string, Map<string, ClaimedPlace>>();
  /** What is under way at each folder. Never rejects. */
  readonly #turns = new Map<string, Promise<void>>();

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
    if (place.kind === 'local') await this.#handOver(work, place, signal);
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

  /** Sees to it that the pod has the folder as it is to have it, once for all agents. */
  async #handOver(work: PodVolume, place: ClaimedPlace, signal: AbortSignal): Promise<void> {
    const { marks } = this.#options;
    const path = await realpath(place.path);
    if (await marks.has(work, path)) return;
    if (work.isRunning === true) {
      // Whoever started it, perhaps a kubelet, had done it before. It goes on without room for a mark, too.
      await marks.write(work, path).catch(() => undefined);
      return;
    }
    await this.#inTurn(path, signal, async () => {
      await this.#giveUnlessUsed(work, { ...place, path }, signal);
      signal.throwIfAborted();
      await marks.write(work, path);
    });
  }

  async #giveUnlessUsed({ pod, volume }: PodVolume, place: ClaimedPlace, signal: AbortSignal): Promise<void> {
    const { marks, events } = this.#options;
    const { name, path } = place;
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    if (fsGroup === undefined) return;
    if (await marks.isUsedByOther(pod.metadata.uid, path)) {
      const { gid } = await stat(path);
      if (gid === fsGroup) return;
      // The kubelet's words.
      const message = `The requested fsGroup is ${fsGroup}, but the volume ${name} has GID ${gid}. The volume may not be shareable.`;
      events.record(pod.metadata, { type: 'Warning', reason: 'AlreadyMountedVolume', message });
      return;
    }
    if (volume.persistentVolumeClaim?.readOnly === true) return;
    await giveToGroup(path, fsGroup, { policy: fsGroupChangePolicy ?? 'Always', signal });
    // File systems keep the order of what they write down, so that no loss of power leaves the mark alone. Those that cannot
    // be asked for it keep no pod waiting.
    await syncPath(path).catch(() => undefined);
  }

  /** One pod after the other at each folder, so that the next one sees the mark of the one before. */
  async #inTurn(path: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(path) ?? Promise.resolve();
    const turn = abortable(before, signal).then(work);
    // Who gives up waiting does not let the next one in.
    const settled = Promise.allSettled([before, turn]).then(() => undefined);
    this.#turns.set(path, settled);
    try {
      await turn;
    } finally {
      void settled.then(() => {
        if (this.#turns.get(path) === settled) this.#turns.delete(path);
      });
    }
  }

  #find({ pod, volume }: PodVolume): ClaimedPlace | undefined {
    return this.#found.get(pod.metadata.uid)?.get(volume.name);
  }
}

function asHostPath(work: PodVolume, { kind, path, type }: ClaimedPlace): PodVolume {
  const wanted = kind === 'local' ? 'Directory' : (type as HostPathType);
  return { ...work, volume: { name: work.volume.name, hostPath: { path, type: wanted } } };
}
