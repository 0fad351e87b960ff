/**
 * Records the sandboxes and containers that the agent ends in order to replace them, on disk before it ends
 * them.
 *
 * In: their ids, each time before. Out: whether an id is recorded, also for a later agent. How such a part
 * ended says nothing about the pod, and its annotations do not show that it was replaced: a reverted edit
 * makes them match the manifest again.
 *
 * Each pod has one file in its own folder, written as a whole and removed with the folder. Ids that the
 * runtime no longer shows are dropped on the next write, so the file does not grow. It assumes that a pod has
 * one operation at a time.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodPaths, type PodStatus } from '#watch';
import { mayBeAlive } from '../../status/pod-containers.js';
import { restartsAlways } from '#kube/container/restart-rule.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { RecordFile } from '#base/fs/record-file.js';
import { type KillReason, type PodActions } from './pod-actions.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** Options of {@link ReplacedParts}. */
export interface ReplacedPartsOptions {
  readonly paths: Pick<PodPaths, 'podDir' | 'replacedFile'>;
  readonly logger?: Logger;
}

/**
 * Reasons for stopping a container that did nothing wrong: another one starts, whatever the restart policy.
 */
const REPLACING: ReadonlySet<KillReason> = new Set(['DefinitionChanged', 'Resize']);

/** See the module. */
export class ReplacedParts {
  readonly #paths: ReplacedPartsOptions['paths'];
  readonly #logger: Logger;
  readonly #byUid = new Map<string, ReadonlySet<string>>();

  constructor({ paths, logger = SILENT_LOGGER }: ReplacedPartsOptions) {
    this.#paths = paths;
    this.#logger = logger;
  }

  /**
   * Reads an earlier agent's record for a pod, once. Never rejects.
   *
   * If the record cannot be read, that is logged, and only what the runtime shows counts.
   */
  async takeUp(podUid: string): Promise<void> {
    if (this.#byUid.has(podUid)) return;
    let ids: readonly string[] = [];
    const file = this.#fileOf(podUid);
    try {
      ids = (await file.read()) ?? [];
    } catch (error) {
      const message = 'What was replaced of a pod cannot be read, the pod goes by what the runtime shows';
      this.#logger.error(message, error, { podUID: podUid, path: file.path });
    }
    this.#byUid.set(podUid, new Set(ids));
  }

  /** Whether the part was ended, or was about to be, in order to be replaced. Only after {@link takeUp}. */
  has(podUid: string, id: string): boolean {
    return this.#byUid.get(podUid)?.has(id) === true;
  }

  /**
   * Adds sandboxes or containers of a pod. Resolves once they are on disk. Never rejects.
   *
   * If the disk is full, that is logged, and they are known until this agent ends.
   */
  async keep(podUid: string, ids: readonly string[], observed: PodStatus): Promise<void> {
    const known = this.#byUid.get(podUid) ?? new Set();
    if (ids.every((id) => known.has(id))) return;
    const shown = new Set([...sandboxIdsOf(observed), ...observed.containers.map(({ id }) => id)]);
    const all = new Set([...[...known].filter((id) => shown.has(id)), ...ids]);
    this.#byUid.set(podUid, all);
    try {
      await makeFolder(this.#paths.podDir(podUid), 0o750);
      await this.#fileOf(podUid).write([...all]);
    } catch (error) {
      this.#logger.error('Replaced parts of a pod cannot be recorded on the disk', error, { podUID: podUid });
    }
  }

  /** The pod is gone: its file goes with its folder. */
  forget(podUid: string): void {
    this.#byUid.delete(podUid);
  }

  #fileOf(podUid: string): RecordFile<readonly string[]> {
    return new RecordFile({
      path: this.#paths.replacedFile(podUid),
      format: (ids) => ({ uid: podUid, ids }),
      parse: ({ uid, ids }) => {
        if (uid !== podUid) throw new Error('it is of another pod');
        if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
          throw new Error('it is not what was written');
        }
        return ids;
      },
    });
  }
}

/** Every sandbox of a pod, including one that only its containers name. */
export function sandboxIdsOf({ sandboxes, containers }: PodStatus): string[] {
  return [...new Set([...sandboxes.map(({ id }) => id), ...containers.map(({ sandboxId }) => sandboxId)])];
}

/**
 * The containers that these actions end and that restart in any case. Pure.
 *
 * If the whole pod moves into another sandbox and its containers always restart, their ends do not matter
 * anyway.
 */
export function findReplaced(
  { spec }: NodePod,
  { containers }: PodStatus,
  { killPod, createSandbox, containersToKill }: PodActions,
): string[] {
  if (!killPod) return containersToKill.filter(({ reason }) => REPLACING.has(reason)).map(({ id }) => id);
  if (!createSandbox || restartsAlways(spec)) return [];
  return containers.filter(mayBeAlive).map(({ id }) => id);
}
