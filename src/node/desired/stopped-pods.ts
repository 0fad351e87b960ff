/**
 * Pods that somebody has stopped although their manifest is still there: kept on the disk, so that they stay stopped over
 * restarts of the agent, until the manifest says something else.
 *
 * ```
 *   wanted ── stop ──► ending ── all of it has ended ──► over
 *      ▲                 │                                │
 *      └── the manifest says something else, or is gone, or it is released
 * ```
 *
 * In: stops and ends. Out: for each pod that a source delivers what is to become of it: as it is, with a deletion, or
 * left out. What is said of a stop holds once it is on the disk, and nothing is done about it before; so an agent that is
 * killed at any point is followed by one that goes on with it.
 *
 * A stop is kept by the uid that the manifest gives, as that is the one that sources know. Whoever stops a pod that was
 * taken over has it under another one; it says its manifest's itself ({@link manifestUidOf}).
 *
 * @module
 */
import { manifestUidOf, type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { Mutex } from '#base/async/mutex.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** A pod that was stopped. */
export interface StoppedPod {
  /** Under which it runs, or ran. */
  readonly uid: string;
  /** By which its source knows it, where that is another. */
  readonly manifestUid?: string;
  readonly namespace: string;
  readonly name: string;
  /** `file`, `http`, `stdin`. */
  readonly source: string;
  /** Of the manifest that was stopped: another one runs. */
  readonly manifestHash: string;
  /** When it is gone at the latest, RFC 3339. */
  readonly deletionTimestamp: string;
  /** In seconds; the shortest that was asked for. */
  readonly gracePeriodSeconds: number;
  /** Nothing of it is left to end. */
  readonly isOver: boolean;
}

/** What {@link StoppedPods} is made of. */
export interface StoppedPodsOptions {
  readonly file: string;
  readonly logger?: Logger;
  /** Called after a record has come, changed or gone: pods are to be looked at anew. */
  readonly onChanged?: () => void;
  /** A pod that was stopped may run again: nothing of its former life, under that uid, counts. */
  readonly onReleased?: (uid: string) => void;
}

/** Of the form of the file. */
const VERSION = 1;

/** See the module. */
export class StoppedPods {
  readonly #options: StoppedPodsOptions;
  readonly #logger: Logger;
  /** By the uids of their manifests. */
  #byUid: ReadonlyMap<string, StoppedPod>;
  #revision = 0;
  readonly #changes = new Mutex();
  /** By source, the uids of what it told of last. */
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  readonly #deleted = new WeakMap<NodePod, { readonly stop: StoppedPod; readonly pod: NodePod }>();

  private constructor(options: StoppedPodsOptions, stops: readonly StoppedPod[]) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = new Map(stops.map((stop) => [manifestUidOf(stop), stop]));
  }

  /** Reads what is kept. Rejects when that cannot be read: what was stopped would run. */
  static async open(options: StoppedPodsOptions): Promise<StoppedPods> {
    const text = await readIfThere(options.file);
    return new StoppedPods(options, text === undefined ? [] : parse(text, options.file));
  }

  /** Another number after each change. */
  get revision(): number {
    return this.#revision;
  }

  /** The stop of that very pod; undefined when there is none, or its manifest says something else now. */
  find(pod: NodePod): StoppedPod | undefined {
    const stop = this.#byUid.get(manifestUidOf(pod.metadata));
    return stop !== undefined && stop.manifestHash === hashOf(pod) ? stop : undefined;
  }

  /** All of them, in the order in which they were stopped. */
  list(): StoppedPod[] {
    return [...this.#byUid.values()];
  }

  /** Whether a pod of that `namespace/name` was stopped, and its manifest says no other thing since. */
  hasStopped(fullName: string): boolean {
    return this.list().some(({ namespace, name }) => `${namespace}/${name}` === fullName);
  }

  /** Those that have ended and that a source would have run, as far as it has told. */
  heldBack(): StoppedPod[] {
    return this.list().filter(
      (stop) => stop.isOver && this.#wanted.get(stop.source)?.has(manifestUidOf(stop)) === true,
    );
  }

  /** What becomes of a pod that a source wants: undefined when it is left out. The same object for the same answer. */
  apply(pod: NodePod): NodePod | undefined {
    const stop = this.find(pod);
    if (stop === undefined) return pod;
    if (stop.isOver) return undefined;
    const known = this.#deleted.get(pod);
    if (known?.stop === stop) return known.pod;
    const { deletionTimestamp, gracePeriodSeconds: deletionGracePeriodSeconds } = stop;
    const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds };
    const deleted = { ...pod, metadata };
    this.#deleted.set(pod, { stop, pod: deleted });
    return deleted;
  }

  /**
   * Stops a pod; of one that is stopped already the grace period can only become shorter. Resolves once that is on the
   * disk and holds; rejects when it cannot be written, and nothing has happened then.
   */
  async stop(
    pod: NodePod,
    end: Pick<StoppedPod, 'deletionTimestamp' | 'gracePeriodSeconds'>,
  ): Promise<StoppedPod> {
    const { uid, manifestUid, namespace, name, annotations } = pod.metadata;
    const source = annotations?.[STATIC_POD_ANNOTATIONS.source] ?? '';
    return this.#changes.run(async () => {
      const known = this.find(pod);
      if (known !== undefined && known.gracePeriodSeconds <= end.gracePeriodSeconds) return known;
      const { deletionTimestamp, gracePeriodSeconds } = end;
      const stop: StoppedPod = {
        ...{ uid, namespace, name, source, manifestHash: hashOf(pod) },
        ...(manifestUid === undefined ? {} : { manifestUid }),
        ...{ deletionTimestamp, gracePeriodSeconds, isOver: known?.isOver ?? false },
      };
      await this.#change((stops) => stops.set(manifestUidOf(stop), stop));
      this.#logger.info('Pod is stopped until its manifest changes', { pod: { uid, namespace, name } });
      this.#options.onChanged?.();
      return stop;
    });
  }

  /** Nothing of the pod of that manifest is left to end. Does nothing for one that was not stopped. Never rejects. */
  async setOver(manifestUid: string): Promise<void> {
    await this.#changes.run(async () => {
      const stop = this.#byUid.get(manifestUid);
      if (stop === undefined || stop.isOver) return;
      const finish = (stops: Map<string, StoppedPod>): void => {
        if (stops.get(manifestUid) === stop) stops.set(manifestUid, { ...stop, isOver: true });
      };
      await this.#change(finish).catch((error: unknown) => {
        // It holds as long as this agent does, and the next one has nothing to end twice.
        this.#apply(finish);
        this.#complain(error);
      });
      this.#options.onChanged?.();
    });
  }

  /** The pod of that manifest may run again. Resolves, with whether it was stopped, once that is on the disk; rejects as {@link stop} does. */
  async release(manifestUid: string): Promise<boolean> {
    return this.#changes.run(async () => {
      const stop = this.#byUid.get(manifestUid);
      if (stop === undefined) return false;
      await this.#change((stops) => stops.delete(manifestUid));
      this.#options.onReleased?.(stop.uid);
      this.#options.onChanged?.();
      return true;
    });
  }

  /**
   * A source says what it wants: stops of pods whose manifest says something else count no more, and neither do those of
   * pods that are gone, once the source has told of all. Takes effect at once; never throws.
   */
  settle(source: string, pods: readonly NodePod[], isComplete: boolean): void {
    const wanted = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    this.#wanted.set(source, new Set(wanted.keys()));
    const done = this.list().filter((stop) => {
      if (stop.source !== source) return false;
      const pod = wanted.get(manifestUidOf(stop));
      return pod === undefined ? isComplete : hashOf(pod) !== stop.manifestHash;
    });
    if (done.length === 0) return;
    this.#apply((stops) => done.forEach((stop) => stops.delete(manifestUidOf(stop))));
    for (const stop of done) if (wanted.has(manifestUidOf(stop))) this.#options.onReleased?.(stop.uid);
    void this.#changes.run(async () =>
      this.#write(this.#byUid).catch((error: unknown) => this.#complain(error)),
    );
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#changes.settled();
  }

  #complain(error: unknown): void {
    const { file: path } = this.#options;
    this.#logger.error('What became of stopped pods cannot be kept on the disk', error, { path });
  }

  /** On the disk first. A source may have told of changes meanwhile: what it has settled stays. */
  async #change(change: (stops: Map<string, StoppedPod>) => unknown): Promise<void> {
    const next = new Map(this.#byUid);
    change(next);
    await this.#write(next);
    this.#apply(change);
  }

  #apply(change: (stops: Map<string, StoppedPod>) => unknown): void {
    const next = new Map(this.#byUid);
    change(next);
    this.#byUid = next;
    this.#revision++;
  }

  async #write(stops: ReadonlyMap<string, StoppedPod>): Promise<void> {
    await writeWhole(
      this.#options.file,
      `${JSON.stringify({ version: VERSION, pods: [...stops.values()] })}\n`,
    );
  }
}

function hashOf({ metadata }: NodePod): string {
  return metadata.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash] ?? '';
}

function parse(text: string, file: string): StoppedPod[] {
  const { version, pods } = parseJson(text);
  if (version === VERSION && Array.isArray(pods) && pods.every(isStoppedPod)) return pods;
  const message = `${file} is not what podloop has written; remove it to have all stopped pods run again`;
  throw new PodloopError('FOLDER_UNUSABLE', message);
}

function isStoppedPod(value: unknown): value is StoppedPod {
  const { uid, manifestUid, manifestHash, deletionTimestamp, gracePeriodSeconds, isOver } = (value ??
    {}) as Partial<StoppedPod>;
  return (
    [uid, manifestUid ?? '', manifestHash, deletionTimestamp].every((each) => typeof each === 'string') &&
    typeof gracePeriodSeconds === 'number' &&
    typeof isOver === 'boolean'
  );
}

function parseJson(text: string): { readonly version?: unknown; readonly pods?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { readonly version?: unknown };
  } catch {
    return {};
  }
}
