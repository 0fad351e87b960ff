/**
 * The ends of pods, on disk before anything relies on them.
 *
 * So an ended pod stays ended over restarts of the agent, of the runtime and of the machine.
 *
 * In: ends as they are decided. Out: how a pod ended, for a later agent. An end that follows from a clock (a
 * deadline) or from containers that may be collected meanwhile cannot be computed a second time.
 *
 * Each record is in the pod's own folder, written as a whole, and removed with it. It assumes that the caller
 * waits for {@link EndedPods.keep} before it stops or removes anything: an agent that is killed before that
 * has decided nothing.
 *
 * @module
 */
import { isTerminalPhase, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type PodPaths } from '#watch';
import { KeyedMutex } from '#base/async/keyed-mutex.js';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { RecordFile } from '#base/fs/record-file.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** How a pod ended. */
export interface EndedPod {
  /** What the pod was to run: a manifest with another definition asks for another run. */
  readonly definition: string;
  readonly status: V1PodStatus;
  /** Nothing was left to do for the pod: this is its last status. */
  readonly isFinished: boolean;
}

/** Options of {@link EndedPods}. */
export interface EndedPodsOptions {
  readonly paths: Pick<PodPaths, 'podsDir' | 'podDir' | 'endFile'>;
  readonly logger?: Logger;
}

/** The start of the agent waits for all of them, and each read may take a while on a busy machine. */
const READS_AT_ONCE = 16;

/** See the module. */
export class EndedPods {
  readonly #options: EndedPodsOptions;
  readonly #logger: Logger;
  readonly #byUid: Map<string, EndedPod>;
  /** Pods with an end on disk, including those of an earlier agent. */
  readonly #kept: Set<string>;
  /** Writes and removals of each pod. */
  readonly #writing = new KeyedMutex();

  private constructor(options: EndedPodsOptions, ended: Map<string, EndedPod>) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = ended;
    this.#kept = new Set(ended.keys());
  }

  /**
   * Reads what earlier agents have stored. An unreadable record is left as it is and logged.
   *
   * Rejects when the folder of pods exists and cannot be read: ended pods would run once more.
   */
  static async open(options: EndedPodsOptions): Promise<EndedPods> {
    const { paths, logger = SILENT_LOGGER } = options;
    const ended = new Map<string, EndedPod>();
    const names = await namesIn(paths.podsDir);
    // A name with a leading dot is being removed.
    const uids = names.filter((name) => !name.startsWith('.'));
    await forEachAtOnce(uids, READS_AT_ONCE, async (uid) => {
      try {
        const known = await fileOf(paths, uid).read();
        if (known !== undefined) ended.set(uid, known);
      } catch (error) {
        if (hasNoEnd(error)) return;
        logger.error('End of a pod cannot be read, the pod goes by what the runtime shows', error, {
          podUID: uid,
          path: paths.endFile(uid),
        });
      }
    });
    return new EndedPods(options, ended);
  }

  /** Undefined for a pod that has not ended, or is unknown. */
  find(uid: string): EndedPod | undefined {
    return this.#byUid.get(uid);
  }

  /** Whether an agent that started now would know that the pod has ended. */
  isKept(uid: string): boolean {
    return this.#kept.has(uid);
  }

  /** Every pod that has ended. */
  uids(): IterableIterator<string> {
    return this.#byUid.keys();
  }

  /**
   * Resolves once the end is on disk, replacing an earlier one. Never rejects.
   *
   * If the disk is full, that is logged, and the end lasts as long as this agent.
   */
  async keep(uid: string, ended: EndedPod): Promise<void> {
    this.#byUid.set(uid, ended);
    await this.#inTurn(uid, async () => {
      const { paths } = this.#options;
      // It may have been forgotten meanwhile, or replaced by a newer one.
      if (this.#byUid.get(uid) !== ended) return;
      await makeFolder(paths.podDir(uid), 0o750);
      await fileOf(paths, uid).write(ended);
      // If it was forgotten during the write, it is removed next.
      if (this.#byUid.get(uid) === ended) this.#kept.add(uid);
    });
  }

  /** The pod runs again, or is gone. The record is removed when {@link settled} resolves. */
  forget(uid: string): void {
    if (!this.#byUid.delete(uid)) return;
    this.#kept.delete(uid);
    void this.#inTurn(uid, async () => {
      if (!this.#byUid.has(uid)) await fileOf(this.#options.paths, uid).remove();
    });
  }

  /**
   * Resolves when everything requested for a pod is on disk. Wait for this before starting something for it.
   */
  async settled(uid: string): Promise<void> {
    await this.#writing.settled(uid);
  }

  async #inTurn(uid: string, write: () => Promise<void>): Promise<void> {
    await this.#writing.run(uid, write).catch((error: unknown) => {
      this.#logger.error('End of a pod cannot be recorded on the disk', error, { podUID: uid });
    });
  }
}

/** The entry is no pod folder, or contains no end. */
function hasNoEnd(error: unknown): boolean {
  return systemCodeOf(error) === 'ENOTDIR';
}

function fileOf(paths: EndedPodsOptions['paths'], uid: string): RecordFile<EndedPod> {
  return new RecordFile({
    path: paths.endFile(uid),
    format: (ended) => ({ uid, ...ended }),
    parse: ({ uid: writtenUid, ...content }) => {
      if (writtenUid !== uid) throw new Error('it is of another pod');
      const { definition, status, isFinished } = content as Partial<EndedPod>;
      if (typeof definition !== 'string' || typeof isFinished !== 'boolean' || !isTerminalStatus(status)) {
        throw new Error('it is not what was written');
      }
      return { definition, status, isFinished };
    },
  });
}

/** Distinguishes a record from a foreign file: a record is always written as a whole. */
function isTerminalStatus(status: V1PodStatus | undefined): status is V1PodStatus {
  const lists = [status?.conditions, status?.containerStatuses];
  return lists.every((list) => Array.isArray(list)) && isTerminalPhase(status!.phase);
}
