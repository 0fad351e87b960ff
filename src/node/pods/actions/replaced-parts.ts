/**
 * Which sandboxes and containers the agent ends so that others take their place: on the disk before they are ended.
 *
 * In: their ids, each time before. Out: whether one is among them, also for an agent that is started later. How such a
 * one has ended says nothing of the pod, and its marks do not tell that: an edit that was taken back makes them those of
 * the manifest again.
 *
 * Each pod has one file, written whole, in the pod's own folder, with which it goes. Ids that the runtime no longer shows
 * are left out of the next one, so it does not grow. It assumes that a pod is worked on once at a time.
 *
 * @module
 */
import { mkdir } from 'node:fs/promises';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodPaths, type PodStatus } from '#watch';
import { mayBeAlive } from '../../status/pod-containers.js';
import { restartsAlways } from '#kube/container/restart-rule.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';
import { type KillReason, type PodActions } from './pod-actions.js';

/** What {@link ReplacedParts} are made of. */
export interface ReplacedPartsOptions {
  readonly paths: Pick<PodPaths, 'podDir' | 'replacedFile'>;
  readonly logger?: Logger;
}

/** Those for which a container is stopped that did nothing wrong: another one is started, whatever the restart policy. */
const REPLACING: ReadonlySet<KillReason> = new Set(['DefinitionChanged', 'Resize']);
/** Of the form of the file; another one is not understood. */
const VERSION = 1;

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
   * Reads what an earlier agent has kept for a pod; does nothing once that is known. Never rejects: a pod whose record
   * cannot be read goes by what the runtime shows, which is said.
   */
  async takeUp(podUid: string): Promise<void> {
    if (this.#byUid.has(podUid)) return;
    let ids: readonly string[] = [];
    const path = this.#paths.replacedFile(podUid);
    try {
      const text = await readIfThere(path);
      if (text !== undefined) ids = parse(text, podUid);
    } catch (error) {
      const message = 'What was replaced of a pod cannot be read, the pod goes by what the runtime shows';
      this.#logger.error(message, error, { podUID: podUid, path });
    }
    this.#byUid.set(podUid, new Set(ids));
  }

  /** Whether it was ended, or was about to be, for another one to take its place. Only after {@link takeUp}. */
  has(podUid: string, id: string): boolean {
    return this.#byUid.get(podUid)?.has(id) === true;
  }

  /**
   * Adds sandboxes or containers of a pod. Resolves once they are on the disk. Never rejects: where there is no room they
   * are known as long as this agent is, which is said.
   */
  async keep(podUid: string, ids: readonly string[], observed: PodStatus): Promise<void> {
    const known = this.#byUid.get(podUid) ?? new Set();
    if (ids.every((id) => known.has(id))) return;
    const shown = new Set([...sandboxIdsOf(observed), ...observed.containers.map(({ id }) => id)]);
    const all = new Set([...[...known].filter((id) => shown.has(id)), ...ids]);
    this.#byUid.set(podUid, all);
    try {
      await mkdir(this.#paths.podDir(podUid), { recursive: true, mode: 0o750 });
      const text = `${JSON.stringify({ version: VERSION, uid: podUid, ids: [...all] })}\n`;
      await writeWhole(this.#paths.replacedFile(podUid), text);
    } catch (error) {
      this.#logger.error('What is replaced of a pod cannot be kept on the disk', error, { podUID: podUid });
    }
  }

  /** The pod is gone: its file goes with its folder. */
  forget(podUid: string): void {
    this.#byUid.delete(podUid);
  }
}

/** Every sandbox of a pod that is to be seen, if only by a container that lives in it. */
export function sandboxIdsOf({ sandboxes, containers }: PodStatus): string[] {
  return [...new Set([...sandboxes.map(({ id }) => id), ...containers.map(({ sandboxId }) => sandboxId)])];
}

/**
 * The containers that these actions end and that are started again whatever comes of that. Pure.
 *
 * Of a whole pod that goes into another sandbox: where containers are restarted after any end, theirs says nothing anyway.
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

function parse(text: string, podUid: string): readonly string[] {
  const { version, uid, ids } = JSON.parse(text) as Readonly<Partial<Record<string, unknown>>>;
  if (version !== VERSION || uid !== podUid) throw new Error('it is of another form, or of another pod');
  if (!(ids instanceof Array) || !ids.every((id) => typeof id === 'string')) {
    throw new Error('it is not what was written');
  }
  return ids;
}
