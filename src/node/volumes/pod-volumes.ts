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
 * ```
 * setUp ─► kinds ─► ROOT/pods/<uid>/volumes ─► mountsFor ─► volume-subpaths ─► the runtime
 * tearDown: what is mounted there, then the folders
 * ```
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/
 *
 * @module
 */
import { realpath } from 'node:fs/promises';
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type Volume } from '#kube/pod/volume.js';
import { type ContainerMount } from '../runtime/config/container-mount.js';
import { type Clock } from '#base/time/clock.js';
import { hasCode, messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { type MountEntry } from '#base/proc/mountinfo.js';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { volumesTearDownEnded, volumeSetUpEnded } from '#base/channels/volume-channels.js';
import { type Mounter } from './mounter.js';
import { ContainerMounts } from './container-mounts.js';
import { type ContainerVariables } from './sub-path/resolve-sub-path.js';
import { SubPathMounts } from './sub-path/sub-path-mounts.js';
import { type BoundedLooks } from './bounded-looks.js';
import { type PodVolume, sourceOf, type VolumeKind, type VolumeKinds } from './volume-kind.js';
import { VolumePaths } from './volume-paths.js';
import { VolumeRemover } from './volume-remover.js';
import { VolumeLog } from './volume-log.js';
import { type VolumeCheck, WaitingVolumes } from './waiting-volumes.js';

/** What {@link PodVolumes} is made of. */
export interface PodVolumesOptions {
  /** Folder of all pods; each has one of its own below it, named after its uid. */
  readonly podsFolder: string;
  readonly kinds: VolumeKinds;
  readonly mounter: Mounter;
  /** The node's mounts as of now. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** What volumes that may never answer are looked at with. */
  readonly looks: BoundedLooks;
  /** Where it is told which volume cannot be had, and why. */
  readonly events: PodEventRecorder;
  readonly clock: Clock;
  /** Where it is told what was mounted and unmounted (default: nowhere). */
  readonly logger?: Logger;
  /** Whether containers of a pod can have mounts that are read-only with all below them (default: none). */
  readonly canMountRecursivelyReadOnly?: (pod: NodePod) => boolean;
  /** A volume that a pod waits for can be had now: see {@link PodVolumes.run}. */
  readonly onReady?: (podUid: string) => void;
}

/** What {@link PodVolumes.setUp} may be told. */
export interface SetUpOptions {
  /** See {@link PodVolume.isRunning}. */
  readonly isRunning?: boolean;
}

/** A volume that cannot be had, and why. */
interface MissingVolume {
  readonly volume: Volume;
  readonly message: string;
  readonly cause: unknown;
}

/** As a kubelet's. */
const FOLDER_MODE = 0o750;

/** Sets up, names and tears down the volumes of pods. Every method is idempotent. */
export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #mounts: ContainerMounts;
  readonly #waiting: WaitingVolumes;
  /** Where the pods are, without links; as it is given until the folder is there. */
  #paths: VolumePaths;
  readonly #log: VolumeLog;
  #remover: VolumeRemover;
  /** Per pod what is under way, and with it the order of all that is asked for. Never rejects. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#mounts = new ContainerMounts({
      subPaths: new SubPathMounts(options),
      paths: () => this.#paths,
      kindOf: (volume) => this.#kindOf(volume),
      hostPathOf: (pod, volume) => this.hostPathOf(pod, volume),
      canMountRecursivelyReadOnly: options.canMountRecursivelyReadOnly,
    });
    const { clock, logger = SILENT_LOGGER, onReady = () => undefined } = options;
    this.#log = new VolumeLog(logger);
    this.#waiting = new WaitingVolumes({ clock, onReady });
    this.#paths = new VolumePaths(options.podsFolder);
    this.#remover = this.#removerAt(this.#paths);
  }

  /**
   * Makes what is missing and brings the rest up to date, each volume whatever becomes of the others; what cannot be
   * done is told of each in the pod's events. Rejects with VOLUME_NOT_READY when a volume cannot be had now, and with
   * VOLUME_UNSUPPORTED when no pod gets one of its kind.
   */
  async setUp(pod: NodePod, signal: AbortSignal, { isRunning = false }: SetUpOptions = {}): Promise<void> {
    const { volumes = [] } = pod.spec;
    signal.throwIfAborted();
    if (volumes.length === 0) return;
    await this.#inTurn(pod.metadata.uid, async () => {
      this.#log.waiting(pod.metadata);
      const work = volumes.map((volume) => this.#setUpOne(pod, volume, isRunning, signal));
      const missing = (await Promise.all(work)).filter((problem) => problem !== undefined);
      signal.throwIfAborted();
      this.#waiting.set(pod.metadata.uid, this.#checksFor(pod, missing, signal));
      if (missing.length === 0) {
        this.#log.ready(pod.metadata);
        return;
      }
      const message = missing.map((problem) => problem.message).join('; ');
      const isUnsupported = missing.some(({ cause }) => hasCode(cause, 'VOLUME_UNSUPPORTED'));
      const code = isUnsupported ? 'VOLUME_UNSUPPORTED' : 'VOLUME_NOT_READY';
      throw new PodloopError(code, message, { cause: missing[0]!.cause });
    });
  }

  /**
   * Where the volumes of one container are, in the order of its volumeMounts, for one start of it: parts of volumes are
   * mounted for that. Rejects in the kubelet's words when there is no such part. Only after {@link setUp}.
   */
  async mountsFor(
    pod: NodePod,
    container: Container,
    variables: ContainerVariables,
  ): Promise<readonly ContainerMount[]> {
    let mounts: readonly ContainerMount[] = [];
    await this.#inTurn(pod.metadata.uid, async () => {
      mounts = await this.#mounts.make({ pod, container, variables });
    });
    return mounts;
  }

  /**
   * Unmounts and removes what the pod's volumes held. Rejects with VOLUME_IN_USE while something is mounted below them
   * that cannot be taken away.
   */
  async tearDown({ metadata }: { readonly metadata: { readonly uid: string } }): Promise<void> {
    const { uid } = metadata;
    this.#waiting.set(uid, []);
    await this.#inTurn(uid, async () => {
      const volumes = await this.#volumesOnDisk(uid);
      const names = volumes.map(({ name }) => name);
      this.#log.tearingDown(metadata, names);
      const startedMs = this.#options.clock.monotonicMs();
      const publish = (isTornDown: boolean): void => {
        const durationMs = this.#options.clock.monotonicMs() - startedMs;
        const kinds = volumes.map(({ kind }) => kind);
        volumesTearDownEnded.publish({ podUid: uid, kinds, durationMs, isTornDown });
      };
      try {
        await this.#remover.remove(uid);
      } catch (error) {
        publish(false);
        throw error;
      }
      publish(true);
      this.#log.tornDown(metadata, names);
      for (const kind of Object.values(this.#options.kinds)) kind.forget?.(uid);
    });
  }

  /** Where a volume is on the node, once it is set up. */
  hostPathOf(pod: NodePod, volume: Volume): string {
    const kind = this.#kindOf(volume);
    return kind.hostPathOf(this.#workOf(pod, volume, kind));
  }

  /** The uids of pods that have volumes here, in no order: also of those that nobody remembers. */
  async findPods(): Promise<string[]> {
    const found: string[] = [];
    for (const name of await namesIn(this.#options.podsFolder)) {
      const paths = this.#paths;
      const folders = [paths.volumesFolder(name), paths.subPathsFolder(name), paths.claimsFolder(name)];
      const held = await Promise.all(folders.map((folder) => namesIn(folder).catch(() => [])));
      if (held.flat().length > 0) found.push(name);
    }
    return found;
  }

  /** Volumes of which there is something on the disk; those of pods of an earlier agent, too. */
  async #volumesOnDisk(uid: string): Promise<{ readonly kind: string; readonly name: string }[]> {
    const ours = new Set(Object.values(this.#options.kinds).map(({ folderName }) => folderName));
    const kinds = await namesIn(this.#paths.volumesFolder(uid)).catch(() => []);
    const found = kinds
      .filter((kind) => ours.has(kind))
      .map(async (kind) => {
        const names = await namesIn(this.#paths.kindFolder(uid, kind)).catch(() => []);
        return names.map((name) => ({ kind, name }));
      });
    return (await Promise.all(found)).flat();
  }

  /** Tells of volumes that pods wait for until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#waiting.run(signal);
  }

  /** Only what nobody else tells of: objects that change wake their pods. */
  #checksFor(pod: NodePod, missing: readonly MissingVolume[], signal: AbortSignal): VolumeCheck[] {
    if (!missing.every(({ volume }) => volume.hostPath !== undefined)) return [];
    return missing.map(({ volume }) => async () => {
      const kind = this.#kindOf(volume);
      await kind.setUp(this.#workOf(pod, volume, kind), signal);
      return true;
    });
  }

  /** What is missing, when the volume cannot be had. */
  async #setUpOne(
    pod: NodePod,
    volume: Volume,
    isRunning: boolean,
    signal: AbortSignal,
  ): Promise<MissingVolume | undefined> {
    const kind = this.#options.kinds[sourceOf(volume)];
    if (kind === undefined) return this.#missing(pod, volume, unsupported(volume));
    const work = { ...this.#workOf(pod, volume, kind), isRunning };
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const publish = (isSetUp: boolean): void => {
      const durationMs = clock.monotonicMs() - startedMs;
      const common = { podUid: pod.metadata.uid, volume: volume.name, source: sourceOf(volume) };
      volumeSetUpEnded.publish({ ...common, durationMs, isSetUp });
    };
    try {
      if (kind.folderName !== undefined) {
        await makeFolder(this.#paths.kindFolder(pod.metadata.uid, kind.folderName), FOLDER_MODE);
      }
      this.#log.settingUp(pod.metadata, volume.name);
      await kind.setUp(work, signal);
      publish(true);
      this.#log.setUp(pod.metadata, volume.name);
      return undefined;
    } catch (cause) {
      if (signal.aborted) return undefined;
      publish(false);
      const missing = this.#missing(pod, volume, cause);
      // Containers go on with what is there, and those that are restarted as well.
      return (await kind.isReady(work).catch(() => false)) ? undefined : missing;
    }
  }

  #missing(pod: NodePod, volume: Volume, cause: unknown): MissingVolume {
    const words = messageOf(cause);
    // Of a step before the set-up the kubelet has other words, which are there already.
    const message = words.startsWith('MountVolume.')
      ? words
      : `MountVolume.SetUp failed for volume "${volume.name}" : ${words}`;
    this.#options.events.record(pod.metadata, { type: 'Warning', reason: 'FailedMount', message });
    return { volume, message, cause };
  }

  #kindOf(volume: Volume): VolumeKind {
    const kind = this.#options.kinds[sourceOf(volume)];
    if (kind === undefined) throw unsupported(volume);
    return kind;
  }

  #workOf(pod: NodePod, volume: Volume, { folderName = '' }: VolumeKind): PodVolume {
    return { pod, volume, folder: this.#paths.volumeFolder(pod.metadata.uid, folderName, volume.name) };
  }

  async #inTurn(uid: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(uid) ?? Promise.resolve();
    const turn = before.then(() => this.#findRealPaths()).then(work);
    const settled = turn.catch(() => undefined);
    this.#turns.set(uid, settled);
    try {
      await turn;
    } finally {
      if (this.#turns.get(uid) === settled) this.#turns.delete(uid);
    }
  }

  /** The table of mounts knows no links: what is compared with it is to have none either. */
  async #findRealPaths(): Promise<void> {
    const { podsFolder: wanted } = this.#options;
    const podsFolder = await realpath(wanted).catch(async (error: unknown) => {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
      await makeFolder(wanted, FOLDER_MODE);
      return await realpath(wanted);
    });
    if (podsFolder === this.#paths.podsFolder) return;
    this.#paths = new VolumePaths(podsFolder);
    this.#remover = this.#removerAt(this.#paths);
  }

  #removerAt(paths: VolumePaths): VolumeRemover {
    const { mounter, readMounts, clock } = this.#options;
    return new VolumeRemover({ paths, mounter, readMounts, clock });
  }
}

/** Manifests with such volumes are refused; pods of an API server come with whatever it takes. */
function unsupported(volume: Volume): Error {
  const message = `volumes of the kind ${sourceOf(volume)} are not supported by podloop`;
  return new PodloopError('VOLUME_UNSUPPORTED', message);
}
