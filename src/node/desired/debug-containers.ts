/**
 * Containers that somebody has added to running pods, for debugging, although no manifest has them.
 *
 * The record is on disk, so that they are part of their pods over restarts of the agent, for as long as the pod
 * lives: until its manifest asks for another pod, is gone, or the pod is restarted.
 *
 * In: the pods that sources deliver, and additions. Out: each pod with the ephemeral containers that were added to
 * it. An addition takes effect only once it is on disk. It is recorded under the uid of the manifest, as in
 * stopped-pods.ts.
 *
 * @module
 */
import { type EphemeralContainer } from '#kube/container/container.js';
import { manifestUidOf, type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { isRecord } from '#base/text/is-record.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { Mutex } from '#base/async/mutex.js';
import { RecordFile } from '#base/fs/record-file.js';

/** A pod with added containers. */
interface DebuggedPod {
  /** The uid under which its source knows it. */
  readonly uid: string;
  readonly source: string;
  /** Another one: the pod is made again, without these containers. */
  readonly definition: string;
  /** With defaults, in the order in which they were added. */
  readonly containers: readonly EphemeralContainer[];
}

/** Options of {@link DebugContainers}. */
export interface DebugContainersOptions {
  readonly file: string;
  readonly logger?: Logger;
  /** What of a pod cannot change while it lives, as one string. */
  readonly definitionOf: (pod: NodePod) => string;
  /** Called after containers were added: the wanted pods have to be computed again. */
  readonly onChanged?: () => void;
}

/** See the module. */
export class DebugContainers {
  readonly #options: DebugContainersOptions;
  readonly #logger: Logger;
  readonly #file: RecordFile<readonly DebuggedPod[]>;
  #byUid: ReadonlyMap<string, DebuggedPod>;
  /** How many lives of a pod are over, of those that a source wants: what is written meanwhile is for the one before. */
  readonly #lives = new Map<string, number>();
  readonly #changes = new Mutex();
  /** By source, the pods of its last delivery. */
  readonly #wanted = new Map<string, ReadonlyMap<string, NodePod>>();
  readonly #applied = new WeakMap<NodePod, { readonly by: DebuggedPod; readonly pod: NodePod }>();

  private constructor(
    options: DebugContainersOptions,
    file: RecordFile<readonly DebuggedPod[]>,
    debugged: readonly DebuggedPod[],
  ) {
    this.#options = options;
    this.#file = file;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = new Map(debugged.map((each) => [each.uid, each]));
  }

  /** Reads the record. Rejects when it is unreadable. */
  static async open(options: DebugContainersOptions): Promise<DebugContainers> {
    const file = new RecordFile<readonly DebuggedPod[]>({
      ...{ path: options.file, parse, format: (pods) => ({ pods }) },
    });
    const known = await file.read(() => {
      const message = `${file.path} is not what podloop has written; remove it to have pods run without the containers that "podloop debug" has added`;
      throw new PodloopError('FOLDER_UNUSABLE', message);
    });
    return new DebugContainers(options, file, known ?? []);
  }

  /** The pod with what was added to it. The same object for the same result. */
  apply(pod: NodePod): NodePod {
    const by = this.#byUid.get(manifestUidOf(pod.metadata));
    if (by === undefined) return pod;
    const known = this.#applied.get(pod);
    if (known?.by === by) return known.pod;
    const { spec } = pod;
    const { initContainers = [], containers, ephemeralContainers = [] } = spec;
    const names = new Set([...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name));
    // The manifest may have got one of that name since.
    const added = by.containers.filter(({ name }) => !names.has(name));
    const debugged = { ...pod, spec: { ...spec, ephemeralContainers: [...ephemeralContainers, ...added] } };
    this.#applied.set(pod, { by, pod: debugged });
    return debugged;
  }

  /** The names of what was added to a pod. */
  namesAdded({ metadata }: NodePod): string[] {
    return (this.#byUid.get(manifestUidOf(metadata))?.containers ?? []).map(({ name }) => name);
  }

  /**
   * Adds containers with new names to a pod.
   *
   * Resolves once that is on disk and effective; with 'gone' if no source wants that pod any more, or its life was over meanwhile, and
   * with 'taken' if somebody else has added another container of such a name. Rejects when it cannot be written, and nothing has
   * happened then.
   */
  async add(
    { metadata }: NodePod,
    containers: readonly EphemeralContainer[],
  ): Promise<'added' | 'gone' | 'taken'> {
    const uid = manifestUidOf(metadata);
    const source = metadata.annotations?.[STATIC_POD_ANNOTATIONS.source] ?? '';
    return this.#changes.run(async () => {
      const pod = this.#wanted.get(source)?.get(uid);
      if (pod === undefined) return 'gone';
      const definition = this.#options.definitionOf(pod);
      const before = this.#byUid.get(uid)?.containers ?? [];
      const known = new Map(before.map((each) => [each.name, JSON.stringify(each)]));
      const added = containers.filter(({ name }) => !known.has(name));
      if (containers.some((each) => (known.get(each.name) ?? JSON.stringify(each)) !== JSON.stringify(each)))
        return 'taken';
      const lives = this.#lives.get(uid);
      const debugged = { uid, source, definition, containers: [...before, ...added] };
      await this.#write(new Map(this.#byUid).set(uid, debugged));
      if (this.#lives.get(uid) !== lives) {
        await this.#write(this.#byUid);
        return 'gone';
      }
      // A delivery may have dropped others meanwhile.
      this.#byUid = new Map(this.#byUid).set(uid, debugged);
      const words = added.map(({ name }) => name).join(', ');
      this.#logger.info('Adding containers to a pod for debugging', { pod: metadata, containers: words });
      this.#options.onChanged?.();
      return 'added';
    });
  }

  /**
   * Drops what was added to pods of a source that are made again after an edit, and to those that are gone from a
   * complete delivery.
   *
   * Takes effect at once; never throws.
   */
  settle(source: string, pods: readonly NodePod[], isComplete: boolean): void {
    const wanted = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    this.#wanted.set(source, wanted);
    for (const uid of this.#lives.keys()) {
      if (![...this.#wanted.values()].some((pods) => pods.has(uid))) this.#lives.delete(uid);
    }
    this.#drop((each) => {
      if (each.source !== source) return false;
      const pod = wanted.get(each.uid);
      return pod === undefined ? isComplete : this.#options.definitionOf(pod) !== each.definition;
    });
  }

  /** The life of the pod of that manifest is over: the next one begins without what was added. Never throws. */
  forget(manifestUid: string): void {
    this.#lives.set(manifestUid, (this.#lives.get(manifestUid) ?? 0) + 1);
    this.#drop(({ uid }) => uid === manifestUid);
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#changes.settled();
  }

  #drop(isOver: (debugged: DebuggedPod) => boolean): void {
    const left = [...this.#byUid].filter(([, debugged]) => !isOver(debugged));
    if (left.length === this.#byUid.size) return;
    this.#byUid = new Map(left);
    void this.#changes.run(async () =>
      this.#write(this.#byUid).catch((error: unknown) => {
        const { file: path } = this.#options;
        this.#logger.error('Record of containers for debugging cannot be written to the disk', error, {
          path,
        });
      }),
    );
  }

  async #write(debugged: ReadonlyMap<string, DebuggedPod>): Promise<void> {
    await this.#file.write([...debugged.values()]);
  }
}

function parse({ pods }: Readonly<Record<string, unknown>>): readonly DebuggedPod[] {
  if (!Array.isArray(pods) || !pods.every(isDebuggedPod)) throw new Error('it is not what was written');
  return pods;
}

function isDebuggedPod(value: unknown): value is DebuggedPod {
  const { uid, source, definition, containers } = (value ?? {}) as Partial<DebuggedPod>;
  return (
    [uid, source, definition].every((each) => typeof each === 'string') &&
    Array.isArray(containers) &&
    containers.every((each: unknown) => isRecord(each) && typeof each['name'] === 'string')
  );
}
