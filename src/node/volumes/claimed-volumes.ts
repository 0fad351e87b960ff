import { type FileHandle, readlink, realpath, stat } from 'node:fs/promises';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type HostPathType, type Volume } from '#kube/pod/volume.js';
import { KeyedMutex } from '#base/async/keyed-mutex.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { syncPath } from '#base/fs/whole-file.js';
import { type ClaimMarks } from './claim-marks.js';
import { giveToGroup } from './give-to-group.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** Where a claimed volume is on this node. */
export interface ClaimedPlace {
  /** The name of the PersistentVolume. */
  readonly name: string;
  /** `local`: an existing folder, which gets the pod's group. `hostPath`: as a volume of that kind. */
  readonly kind: 'local' | 'hostPath';
  readonly path: string;
  /** What a hostPath has to be, or is created as; empty: no check. */
  readonly type: string;
}

/** Knows what pods have claimed. */
export interface VolumeClaimSource {
  /** Rejects with an Error that says why the volume is not available here. */
  getClaimed(pod: NodePod, volume: Volume, signal: AbortSignal): Promise<ClaimedPlace>;
}

/** A volume that a pod has claimed. */
export interface Claimed {
  readonly podUid: string;
  /** The name of the volume in the pod. */
  readonly volume: string;
  readonly claim: { readonly namespace: string; readonly name: string };
  readonly place: ClaimedPlace;
}

/** Options of {@link ClaimedVolumes}. */
export interface ClaimedVolumesOptions {
  readonly claims: VolumeClaimSource;
  readonly hostPath: VolumeKind;
  readonly marks: ClaimMarks;
  /** Receives the event that a volume belongs to another group. */
  readonly events: PodEventRecorder;
}

/**
 * Persistent volumes on the node: persistentVolumeClaim, and ephemeral, which is a claim that was created for
 * the pod.
 *
 * They do not belong to the pod and are never removed. A pod's claim is looked up once per agent.
 *
 * A local volume is given to the pod's group, as by a kubelet, before anything of the pod starts, and only
 * then: later agents leave alone what the pod has changed since. While another pod has it, too, it keeps that
 * pod's group.
 */
export class ClaimedVolumes implements VolumeKind {
  readonly folderName = undefined;
  readonly open: VolumeKind['open'];
  readonly #options: ClaimedVolumesOptions;
  /** By pod and name of the volume. */
  readonly #found = new Map<string, Map<string, Claimed>>();
  /** One pod after the other at each folder, so that the next one sees the previous mark. */
  readonly #turns = new KeyedMutex();

  constructor(options: ClaimedVolumesOptions) {
    this.#options = options;
    const { open } = options.hostPath;
    if (open !== undefined) this.open = (work) => open(asHostPath(work, this.#get(work)));
  }

  async setUp(work: PodVolume, signal: AbortSignal): Promise<void> {
    const { claims, hostPath } = this.#options;
    const { pod, volume } = work;
    const known = this.#find(work);
    const place = known ?? (await claims.getClaimed(pod, volume, signal));
    await hostPath.setUp(asHostPath(work, place), signal);
    if (known !== undefined) return;
    if (place.kind === 'local') await this.#handOver(work, place, signal);
    const { uid, namespace, name } = pod.metadata;
    const found = this.#found.get(uid) ?? new Map<string, Claimed>();
    const claimName = volume.persistentVolumeClaim?.claimName ?? `${name}-${volume.name}`;
    const claim = { namespace, name: claimName };
    this.#found.set(uid, found.set(volume.name, { podUid: uid, volume: volume.name, claim, place }));
  }

  /** What pods have been given by this agent, and have not yet returned. */
  list(): Claimed[] {
    return [...this.#found.values()].flatMap((ofPod) => [...ofPod.values()]);
  }

  isReady(work: PodVolume): Promise<boolean> {
    return Promise.resolve(this.#find(work) !== undefined);
  }

  hostPathOf(work: PodVolume): string {
    return this.#get(work).path;
  }

  forget(podUid: string): void {
    this.#found.delete(podUid);
  }

  /** Prepares the folder for the pod, once for all agents. */
  async #handOver(work: PodVolume, place: ClaimedPlace, signal: AbortSignal): Promise<void> {
    const { marks, hostPath } = this.#options;
    // Where a container can swap the folder, it is opened, and what is opened is the volume.
    await using held = await hostPath.open?.(asHostPath(work, place));
    const path = await (held === undefined ? realpath(place.path) : readlink(pathOfHandle(held.handle)));
    if (await marks.has(work, path)) return;
    if (work.isRunning === true) {
      // Whoever started it, perhaps a kubelet, had done it before. The pod runs on even if there is no room
      // for a mark.
      await marks.write(work, path).catch(() => undefined);
      return;
    }
    const handOver = async (): Promise<void> => {
      await this.#giveUnlessUsed(work, { ...place, path }, held?.handle ?? path, signal);
      signal.throwIfAborted();
      await marks.write(work, path);
    };
    await this.#turns.run(path, handOver, signal);
  }

  async #giveUnlessUsed(
    { pod, volume }: PodVolume,
    { name, path }: ClaimedPlace,
    folder: string | FileHandle,
    signal: AbortSignal,
  ): Promise<void> {
    const { marks, events } = this.#options;
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    if (fsGroup === undefined) return;
    if (await marks.isUsedByOther(pod.metadata.uid, path)) {
      const { gid } = await (typeof folder === 'string' ? stat(folder) : folder.stat());
      if (gid === fsGroup) return;
      // The kubelet's words.
      const message = `The requested fsGroup is ${fsGroup}, but the volume ${name} has GID ${gid}. The volume may not be shareable.`;
      events.record(pod.metadata, { type: 'Warning', reason: 'AlreadyMountedVolume', message });
      return;
    }
    if (volume.persistentVolumeClaim?.readOnly === true) return;
    await giveToGroup(folder, fsGroup, { policy: fsGroupChangePolicy ?? 'Always', signal });
    // File systems keep the order of synced writes, so that a power failure never leaves only the mark. A
    // file system that cannot sync does not hold up the pod.
    await syncPath(typeof folder === 'string' ? folder : pathOfHandle(folder)).catch(() => undefined);
  }

  #get(work: PodVolume): ClaimedPlace {
    const place = this.#find(work);
    if (place === undefined) throw new Error(`volume "${work.volume.name}" was not set up`);
    return place;
  }

  #find({ pod, volume }: PodVolume): ClaimedPlace | undefined {
    return this.#found.get(pod.metadata.uid)?.get(volume.name)?.place;
  }
}

function asHostPath(work: PodVolume, { kind, path, type }: ClaimedPlace): PodVolume {
  const wanted = kind === 'local' ? 'Directory' : (type as HostPathType);
  return { ...work, volume: { name: work.volume.name, hostPath: { path, type: wanted } } };
}
