/**
 * Pods that somebody has stopped although their manifest still exists.
 *
 * The record is on disk, so that they stay stopped over restarts of the agent, until the manifest changes. A pod that
 * somebody restarts is stopped in the same way, and runs again once all of it has ended.
 *
 * ```
 *   wanted ── stop ──► ending ── all of it has ended ──► over
 *      ▲                 │                                │
 *      └── the manifest says something else, or is gone, or it is released, or it comes back when it is over
 * ```
 *
 * In: stops and ends. Out: for each pod that a source delivers, the pod as it is, with a deletion, or left
 * out. A stop takes effect only once it is on disk, so an agent that is killed at any point is followed by
 * one that continues. Only on a full or read-only disk it takes effect at once, since the end of a pod makes room: it
 * is written when there is room again, and an agent that is killed before that has the pod run again.
 *
 * A stop is recorded under the uid of the manifest, as sources know that one. Callers that stop an adopted
 * pod have another uid; they pass the manifest's themselves ({@link manifestUidOf}).
 *
 * @module
 */
import { manifestUidOf, type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { isUnwritable } from '#base/fs/disk-errors.js';
import { Mutex } from '#base/async/mutex.js';
import { RecordFile } from '#base/fs/record-file.js';

/** A pod that was stopped. */
export interface StoppedPod {
  /** The uid under which it runs, or ran. */
  readonly uid: string;
  /** The uid under which its source knows it, if different. */
  readonly manifestUid?: string;
  readonly namespace: string;
  readonly name: string;
  /** `file`, `http`, `stdin`. */
  readonly source: string;
  /** Of the stopped manifest: another one runs. */
  readonly manifestHash: string;
  /** When it is gone at the latest, RFC 3339. */
  readonly deletionTimestamp: string;
  /** In seconds; the shortest one requested. */
  readonly gracePeriodSeconds: number;
  /** Nothing of it is left to end. */
  readonly isOver: boolean;
  /** It runs again when it is over: somebody restarts it (default: false). */
  readonly comesBack?: boolean;
  /** Its claims, whose volumes nobody may remove meanwhile (default: it was deleted and needs none). */
  readonly claims?: readonly string[];
}

/** How a pod is to end. */
export interface StopRequest extends Pick<
  StoppedPod,
  'deletionTimestamp' | 'gracePeriodSeconds' | 'comesBack'
> {
  /** It is stopped and not deleted: its claims stay in use (default: false). */
  readonly keepsClaims?: boolean;
}

/** Options of {@link StoppedPods}. */
export interface StoppedPodsOptions {
  readonly file: string;
  readonly logger?: Logger;
  /** Called after a record was added, changed or removed: the wanted pods have to be computed again. */
  readonly onChanged?: () => void;
  /** A stopped pod may run again: nothing of its former life under that uid counts. */
  readonly onReleased?: (uid: string) => void;
}

/** See the module. */
export class StoppedPods {
  readonly #options: StoppedPodsOptions;
  readonly #logger: Logger;
  readonly #file: RecordFile<readonly StoppedPod[]>;
  /** By the uids of their manifests. */
  #byUid: ReadonlyMap<string, StoppedPod>;
  #revision = 0;
  /** The disk lacks what is in memory. */
  #isUnwritten = false;
  readonly #changes = new Mutex();
  /** By source, the uids of its last delivery. */
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  readonly #deleted = new WeakMap<NodePod, { readonly stop: StoppedPod; readonly pod: NodePod }>();

  private constructor(
    options: StoppedPodsOptions,
    file: RecordFile<readonly StoppedPod[]>,
    stops: readonly StoppedPod[],
  ) {
    this.#options = options;
    this.#file = file;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = new Map(stops.map((stop) => [manifestUidOf(stop), stop]));
  }

  /** Reads the record. Rejects when it is unreadable: stopped pods would run. */
  static async open(options: StoppedPodsOptions): Promise<StoppedPods> {
    const file = new RecordFile<readonly StoppedPod[]>({
      ...{ path: options.file, parse, format: (pods) => ({ pods }) },
    });
    const known = await file.read(() => {
      const message = `${file.path} is not what podloop has written; remove it to have all stopped pods run again`;
      throw new PodloopError('FOLDER_UNUSABLE', message);
    });
    return new StoppedPods(options, file, known ?? []);
  }

  /** Changes with every change of the record. */
  get revision(): number {
    return this.#revision;
  }

  /** The stop of exactly that pod; undefined when there is none, or its manifest has changed. */
  find(pod: NodePod): StoppedPod | undefined {
    const stop = this.#byUid.get(manifestUidOf(pod.metadata));
    return stop !== undefined && stop.manifestHash === hashOf(pod) ? stop : undefined;
  }

  /** All of them, in the order in which they were stopped. */
  list(): StoppedPod[] {
    return [...this.#byUid.values()];
  }

  /** Whether a pod of that `namespace/name` was stopped, and its manifest is unchanged. */
  hasStopped(fullName: string): boolean {
    return this.list().some(({ namespace, name }) => `${namespace}/${name}` === fullName);
  }

  /** Ended pods that a source still wants, as far as it has delivered. */
  heldBack(): StoppedPod[] {
    return this.list().filter(
      (stop) => stop.isOver && this.#wanted.get(stop.source)?.has(manifestUidOf(stop)) === true,
    );
  }

  /**
   * What happens to a pod that a source wants: undefined when it is left out. The same object for the same
   * result.
   */
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
   * Stops a pod; for a stopped one the grace period can only become shorter. Whether it comes back, and keeps its
   * claims, is what was asked for last.
   *
   * Resolves once that is on disk and effective, on a full or read-only disk once it is effective. Rejects when it
   * cannot be written for another reason, and nothing has happened then.
   */
  async stop(pod: NodePod, end: StopRequest): Promise<StoppedPod> {
    const { uid, manifestUid, namespace, name, annotations } = pod.metadata;
    const source = annotations?.[STATIC_POD_ANNOTATIONS.source] ?? '';
    return this.#changes.run(async () => {
      const known = this.find(pod);
      const { comesBack = false, keepsClaims = false } = end;
      const isSooner = known !== undefined && known.gracePeriodSeconds <= end.gracePeriodSeconds;
      const isSame =
        comesBack === (known?.comesBack ?? false) && keepsClaims === (known?.claims !== undefined);
      if (isSooner && isSame) return known;
      const { deletionTimestamp, gracePeriodSeconds } = isSooner ? known : end;
      const stop: StoppedPod = {
        ...{ uid, namespace, name, source, manifestHash: hashOf(pod) },
        ...(manifestUid === undefined ? {} : { manifestUid }),
        ...{ deletionTimestamp, gracePeriodSeconds, isOver: known?.isOver ?? false },
        ...(comesBack ? { comesBack } : {}),
        ...(keepsClaims ? { claims: claimsOf(pod) } : {}),
      };
      const add = (stops: Map<string, StoppedPod>): unknown => stops.set(manifestUidOf(stop), stop);
      await this.#change(add).catch((error: unknown) => {
        if (!isUnwritable(error)) throw error;
        this.#apply(add);
        this.#complain(error);
      });
      const message = comesBack ? 'Restarting a pod' : 'Pod is stopped until its manifest changes';
      this.#logger.info(message, { pod: { uid, namespace, name } });
      this.#options.onChanged?.();
      return stop;
    });
  }

  /**
   * Nothing of the pod of that manifest is left to end: it stays away, or comes back. Does nothing for a pod that was
   * not stopped. Never rejects.
   */
  async setOver(manifestUid: string): Promise<void> {
    await this.#changes.run(async () => {
      const stop = this.#byUid.get(manifestUid);
      if (stop === undefined || stop.isOver) return;
      const released: string[] = [];
      const finish = (stops: Map<string, StoppedPod>): void => {
        if (stops.get(manifestUid) !== stop) return;
        if (stop.comesBack === true && stops.delete(manifestUid)) released.push(stop.uid);
        else stops.set(manifestUid, { ...stop, isOver: true });
      };
      await this.#change(finish).catch((error: unknown) => {
        // Valid as long as this agent runs; the next one finds nothing left to end.
        this.#apply(finish);
        this.#complain(error);
      });
      if (released.length > 0) this.#options.onReleased?.(stop.uid);
      this.#options.onChanged?.();
    });
  }

  /**
   * Lets the pod of that manifest run again. Resolves, once that is on disk, with whether it was stopped.
   *
   * Rejects as {@link stop} does.
   */
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
   * Drops stops of pods whose manifest has changed in a delivery, and of pods that are gone from a complete
   * one.
   *
   * Takes effect at once; never throws.
   */
  settle(source: string, pods: readonly NodePod[], isComplete: boolean): void {
    const wanted = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    this.#wanted.set(source, new Set(wanted.keys()));
    const done = this.list().filter((stop) => {
      if (stop.source !== source) return false;
      const pod = wanted.get(manifestUidOf(stop));
      return pod === undefined ? isComplete : hashOf(pod) !== stop.manifestHash;
    });
    if (done.length === 0) {
      if (this.#isUnwritten) this.#writeSoon();
      return;
    }
    this.#apply((stops) => done.forEach((stop) => stops.delete(manifestUidOf(stop))));
    for (const stop of done) if (wanted.has(manifestUidOf(stop))) this.#options.onReleased?.(stop.uid);
    this.#writeSoon();
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#changes.settled();
  }

  #writeSoon(): void {
    void this.#changes.run(async () =>
      this.#write(this.#byUid).catch((error: unknown) => this.#complain(error)),
    );
  }

  /** Once until they are written. */
  #complain(error: unknown): void {
    if (this.#isUnwritten) return;
    this.#isUnwritten = true;
    const { file: path } = this.#options;
    this.#logger.error('Records of stopped pods cannot be written to the disk, they wait in memory', error, {
      path,
    });
  }

  /** Changes the disk first. A source may have delivered meanwhile: stops that it dropped stay dropped. */
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
    await this.#file.write([...stops.values()]);
    this.#isUnwritten = false;
  }
}

function claimsOf({ spec }: NodePod): string[] {
  return (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []);
}

function hashOf({ metadata }: NodePod): string {
  return metadata.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash] ?? '';
}

function parse({ pods }: Readonly<Record<string, unknown>>): readonly StoppedPod[] {
  if (!Array.isArray(pods) || !pods.every(isStoppedPod)) throw new Error('it is not what was written');
  return pods;
}

function isStoppedPod(value: unknown): value is StoppedPod {
  const { uid, manifestUid, manifestHash, deletionTimestamp, ...more } = (value ?? {}) as Partial<StoppedPod>;
  const { gracePeriodSeconds, isOver, comesBack = false, claims = [] } = more;
  return (
    [uid, manifestUid ?? '', manifestHash, deletionTimestamp].every((each) => typeof each === 'string') &&
    typeof gracePeriodSeconds === 'number' &&
    typeof isOver === 'boolean' &&
    typeof comesBack === 'boolean' &&
    Array.isArray(claims) &&
    claims.every((each) => typeof each === 'string')
  );
}
