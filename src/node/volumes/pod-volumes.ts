/**
 * The volumes of pods: created, checked, updated and removed.
 *
 * In: pods with their volumes. Out: the paths of volumes on the node, as mounts of containers. It assumes
 * that the folder of the pods belongs only to the agent, and that a pod's containers have all ended before
 * its volumes are torn down. A volume with something still mounted below it stays, and its removal is
 * retried.
 *
 * It does not remember what was created: the disk and the table of mounts show that, also to a restarted
 * agent. The differences between the kinds of volumes are in one {@link VolumeKind} each.
 *
 * ```
 * setUp ─► kinds ─► ROOT/pods/<uid>/volumes ─► mountsFor ─► volume-subpaths, volume-host-paths ─► the runtime
 * tearDown: what is mounted there, then the folders
 * ```
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/
 *
 * @module
 */
import { realpath } from 'node:fs/promises';
import { KeyedMutex } from '#base/async/keyed-mutex.js';
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
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
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

/** Options of {@link PodVolumes}. */
export interface PodVolumesOptions extends Publisher {
  /** Folder of all pods; each has one of its own below it, named after its uid. */
  readonly podsFolder: string;
  readonly kinds: VolumeKinds;
  readonly mounter: Mounter;
  /** Reads the node's present mounts. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** Accesses volumes that may never answer. */
  readonly looks: BoundedLooks;
  /** Receives which volume is not available, and why. */
  readonly events: PodEventRecorder;
  readonly clock: Clock;
  /** Receives what was mounted and unmounted (default: nowhere). */
  readonly logger?: Logger;
  /** Whether containers of a pod can have recursive read-only mounts (default: none can). */
  readonly canMountRecursivelyReadOnly?: (pod: NodePod) => boolean;
  /** A volume that a pod waits for is available now: see {@link PodVolumes.run}. */
  readonly onReady?: (podUid: string) => void;
}

/** Options of {@link PodVolumes.setUp}. */
export interface SetUpOptions {
  /** See {@link PodVolume.isRunning}. */
  readonly isRunning?: boolean;
}

/** An unavailable volume, and why. */
interface MissingVolume {
  readonly volume: Volume;
  readonly message: string;
  readonly cause: unknown;
}

/** As a kubelet's. */
const FOLDER_MODE = 0o750;

/** Sets up, locates and tears down the volumes of pods. Every method is idempotent. */
export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #mounts: ContainerMounts;
  readonly #waiting: WaitingVolumes;
  /** The paths of the pods, without links; as configured until the folder exists. */
  #paths: VolumePaths;
  readonly #log: VolumeLog;
  #remover: VolumeRemover;
  /** The operations of each pod. */
  readonly #turns = new KeyedMutex();

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#mounts = new ContainerMounts({
      subPaths: new SubPathMounts(options),
      paths: () => this.#paths,
      kindOf: (volume) => this.#kindOf(volume),
      workOf: (pod, volume) => this.#workOf(pod, volume, this.#kindOf(volume)),
      canMountRecursivelyReadOnly: options.canMountRecursivelyReadOnly,
    });
    const { clock, logger = SILENT_LOGGER, onReady = () => undefined } = options;
    this.#log = new VolumeLog(logger);
    this.#waiting = new WaitingVolumes({ clock, onReady });
    this.#paths = new VolumePaths(options.podsFolder);
    this.#remover = this.#removerAt(this.#paths);
  }

  /**
   * Creates missing volumes and updates the others, independently of each other; failures appear in the pod's
   * events.
   *
   * Rejects with VOLUME_NOT_READY when a volume is not available now, and with VOLUME_UNSUPPORTED when its
   * kind is not supported.
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
   * The mounts of one container, in the order of its volumeMounts, for one start of it. Only after {@link
   * setUp}.
   *
   * It mounts subpaths of volumes. Rejects in the kubelet's words when a subpath does not exist.
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
   * Unmounts and removes the contents of the pod's volumes.
   *
   * Rejects with VOLUME_IN_USE while something is mounted below them that cannot be unmounted.
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
        publishTo(this.#options.channels, volumesTearDownEnded, {
          podUid: uid,
          kinds,
          durationMs,
          isTornDown,
        });
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

  /** The uids of pods that have volumes here, in no order, including pods that nobody remembers. */
  async findPods(): Promise<string[]> {
    const found: string[] = [];
    for (const name of await namesIn(this.#options.podsFolder)) {
      const paths = this.#paths;
      const held = await Promise.all(paths.foldersOf(name).map((folder) => namesIn(folder).catch(() => [])));
      if (held.flat().length > 0) found.push(name);
    }
    return found;
  }

  /** Volumes with something on disk, including those of an earlier agent's pods. */
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

  /** Reports volumes that pods wait for until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#waiting.run(signal);
  }

  /** Only volumes without another notification: changed objects wake their pods. */
  #checksFor(pod: NodePod, missing: readonly MissingVolume[], signal: AbortSignal): VolumeCheck[] {
    if (!missing.every(({ volume }) => volume.hostPath !== undefined)) return [];
    return missing.map(({ volume }) => async () => {
      const kind = this.#kindOf(volume);
      await kind.setUp(this.#workOf(pod, volume, kind), signal);
      return true;
    });
  }

  /** Returns what is missing when the volume is not available. */
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
      publishTo(this.#options.channels, volumeSetUpEnded, { ...common, durationMs, isSetUp });
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
      // Running and restarted containers continue with what exists.
      return (await kind.isReady(work).catch(() => false)) ? undefined : missing;
    }
  }

  #missing(pod: NodePod, volume: Volume, cause: unknown): MissingVolume {
    const words = messageOf(cause);
    // The kubelet has other words for a step before the set-up, which are present already.
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
    await this.#turns.run(uid, async () => {
      await this.#findRealPaths();
      await work();
    });
  }

  /** Resolves links, as paths in the table of mounts have none. */
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

/** Manifests with such volumes are refused; pods of an API server may have any. */
function unsupported(volume: Volume): Error {
  const message = `volumes of the kind ${sourceOf(volume)} are not supported by podloop`;
  return new PodloopError('VOLUME_UNSUPPORTED', message);
}
