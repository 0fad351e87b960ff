/**
 * How pods have ended: on the disk before anything is built on it, so that an ended pod stays ended over restarts of the
 * agent, of the runtime and of the machine.
 *
 * In: ends as they are decided. Out: what became of a pod, for an agent that finds it. An end that follows from a clock
 * (a deadline) or from containers that may be collected meanwhile cannot be worked out a second time.
 *
 * Each lies in the pod's own folder, written whole, and goes with it. It assumes that whoever decides an end waits for
 * {@link EndedPods.keep} before he stops or removes anything: whoever is killed before that has decided nothing.
 *
 * @module
 */
import { mkdir, rm } from 'node:fs/promises';
import { isTerminalPhase, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type PodPaths } from '#watch';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** How a pod ended. */
export interface EndedPod {
  /** What the pod was to run: a manifest that says something else asks for another run. */
  readonly definition: string;
  readonly status: V1PodStatus;
  /** Nothing was left to do for the pod: this is its last status. */
  readonly isFinished: boolean;
}

/** What {@link EndedPods} is made of. */
export interface EndedPodsOptions {
  readonly paths: Pick<PodPaths, 'podsDir' | 'podDir' | 'endFile'>;
  readonly logger?: Logger;
}

/** A start waits for all of them, and one after the other they take a turn of a busy machine each. */
const READS_AT_ONCE = 16;
/** Of the form of the file; another one is not understood. */
const VERSION = 1;

/** See the module. */
export class EndedPods {
  readonly #options: EndedPodsOptions;
  readonly #logger: Logger;
  readonly #byUid: Map<string, EndedPod>;
  /** Of which an end is on the disk: an earlier agent's word for it as well. */
  readonly #kept: Set<string>;
  /** Per pod the write or removal under way, and with it their order. Never rejects. */
  readonly #writing = new Map<string, Promise<void>>();

  private constructor(options: EndedPodsOptions, ended: Map<string, EndedPod>) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = ended;
    this.#kept = new Set(ended.keys());
  }

  /**
   * Reads what earlier agents have kept. A record that cannot be read is left as it is, and said. Rejects when the
   * folder of pods is there and cannot be read: pods that have ended would run once more.
   */
  static async open(options: EndedPodsOptions): Promise<EndedPods> {
    const { paths, logger = SILENT_LOGGER } = options;
    const ended = new Map<string, EndedPod>();
    const names = await namesIn(paths.podsDir);
    // What begins with a dot is being removed.
    const uids = names.filter((name) => !name.startsWith('.'));
    await forEachAtOnce(uids, READS_AT_ONCE, async (uid) => {
      try {
        const text = await readIfThere(paths.endFile(uid));
        if (text !== undefined) ended.set(uid, parse(text, uid));
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

  /** Undefined for a pod that has not ended, or is not known. */
  find(uid: string): EndedPod | undefined {
    return this.#byUid.get(uid);
  }

  /** Whether an agent that is started now would know that the pod has ended. */
  isKept(uid: string): boolean {
    return this.#kept.has(uid);
  }

  /** Every pod that has ended. */
  uids(): IterableIterator<string> {
    return this.#byUid.keys();
  }

  /**
   * Resolves once the end is on the disk, in place of an earlier one. Never rejects: where there is no room the end
   * holds as long as this agent does, which is said.
   */
  async keep(uid: string, ended: EndedPod): Promise<void> {
    this.#byUid.set(uid, ended);
    await this.#inTurn(uid, async () => {
      const { paths } = this.#options;
      // Somebody may have forgotten it meanwhile, or knows more.
      if (this.#byUid.get(uid) !== ended) return;
      await mkdir(paths.podDir(uid), { recursive: true, mode: 0o750 });
      await writeWhole(paths.endFile(uid), `${JSON.stringify({ version: VERSION, uid, ...ended })}\n`);
      // It may have been forgotten as it was written: then it is taken away next.
      if (this.#byUid.get(uid) === ended) this.#kept.add(uid);
    });
  }

  /** The pod runs anew, or is gone. The record is out of the way when {@link settled} resolves. */
  forget(uid: string): void {
    if (!this.#byUid.delete(uid)) return;
    this.#kept.delete(uid);
    void this.#inTurn(uid, async () => {
      if (!this.#byUid.has(uid)) await rm(this.#options.paths.endFile(uid), { force: true });
    });
  }

  /** Resolves when what was asked for a pod is on the disk. Whoever starts something for it waits for that. */
  async settled(uid: string): Promise<void> {
    await this.#writing.get(uid);
  }

  async #inTurn(uid: string, write: () => Promise<void>): Promise<void> {
    const before = this.#writing.get(uid) ?? Promise.resolve();
    const turn = before.then(write).catch((error: unknown) => {
      this.#logger.error('End of a pod cannot be kept on the disk', error, { podUID: uid });
    });
    this.#writing.set(uid, turn);
    await turn;
    if (this.#writing.get(uid) === turn) this.#writing.delete(uid);
  }
}

/** What lies beside the folders of pods, or is no folder. */
function hasNoEnd(error: unknown): boolean {
  return systemCodeOf(error) === 'ENOTDIR';
}

function parse(text: string, uid: string): EndedPod {
  const {
    version,
    uid: writtenUid,
    definition,
    status,
    isFinished,
  } = JSON.parse(text) as Partial<EndedPod> & {
    readonly version?: unknown;
    readonly uid?: unknown;
  };
  if (version !== VERSION || writtenUid !== uid) throw new Error('it is of another form, or of another pod');
  if (typeof definition !== 'string' || typeof isFinished !== 'boolean' || !isTerminalStatus(status)) {
    throw new Error('it is not what was written');
  }
  return { definition, status, isFinished };
}

/** What was written whole is as it was written: this tells it from a file of somebody else's. */
function isTerminalStatus(status: V1PodStatus | undefined): status is V1PodStatus {
  const lists = [status?.conditions, status?.containerStatuses];
  return lists.every((list) => Array.isArray(list)) && isTerminalPhase(status!.phase);
}
