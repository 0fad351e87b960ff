/**
 * Removes the folders, logs and links of pods that are gone.
 *
 * In: the pod folders below the root folder, which all belong to the agent, and which pods are gone. Out:
 * removals. These folders show which logs and links are owned, as the folders of logs may be shared with
 * another agent. It assumes that the cache may not have seen a pod yet, so it asks the runtime once more
 * before it removes anything.
 *
 * @module
 */
import { lstat, readlink, realpath, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type PodPaths, type Runtime } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { findMountBelow, parseMountinfo, readOwnMountinfo } from '#base/proc/mountinfo.js';
import { namesIn } from '#base/fs/names-in.js';
import { removeTree } from '#base/fs/remove-tree.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { orphanedVolumesCleaned } from '#base/channels/volume-channels.js';
import { isStrictlyBelow } from './container-logs.js';
import { type ObservedPods } from './observed-pods.js';

/** What {@link PodFolderCollector} needs. */
export interface PodFolderCollectorOptions extends Publisher {
  readonly clock: Clock;
  readonly paths: PodPaths;
  readonly pods: ObservedPods;
  readonly runtime: Pick<Runtime, 'findPod'>;
  /** Removes the volumes of a pod; rejects while they are in use, and then the pod's folder stays. */
  readonly tearDownVolumes: (podUid: string) => Promise<void>;
  /** Where links to logs are (default: none). */
  readonly containerLogLinksDir?: string;
  /** The node's table of mounts (default: /proc/self/mountinfo). */
  readonly readMounts?: () => Promise<string>;
  readonly logger?: Logger;
}

/** Prefix of a folder that is being removed, whatever it was before. */
const ASIDE = '.podloop-gone-';

const LINKS_PERIOD_MS = 60_000;

interface LogLink {
  readonly link: string;
  readonly target: string;
  readonly uid: string;
}

/** What pods have beside their own folders, by uid. */
interface Left {
  readonly links: ReadonlyMap<string, readonly LogLink[]>;
  /** Names; one, unless the pod had another name under the same uid. */
  readonly logFolders: ReadonlyMap<string, readonly string[]>;
}

const NOTHING_LEFT: Left = { links: new Map(), logFolders: new Map() };

/** See the module. */
export class PodFolderCollector {
  readonly name = 'pod directories';
  readonly #options: PodFolderCollectorOptions;
  readonly #logger: Logger;
  /** Why the folder of a pod stays, so that it is logged once. */
  readonly #kept = new Map<string, string>();
  /** Renamed folders that cannot be removed, so that it is logged once. */
  readonly #stuck = new Set<string>();
  /** When to check links again, in monotonic milliseconds. */
  #linksDueMs = 0;
  /** The pod whose folders are being removed right now. */
  #removing: string | undefined;

  constructor(options: PodFolderCollectorOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Whether a pod's folders are being removed right now: anything created in them now would go, too. */
  isRemoving(uid: string): boolean {
    return this.#removing === uid;
  }

  /**
   * Removes what is left of pods that are gone, and links whose logs are.
   *
   * `mayRemove` has to be false until every source of pods was read. Returns `more` while something of such a
   * pod is left.
   */
  async cleanUp(
    view: { mayRemove(podUid: string): boolean },
    signal: AbortSignal,
  ): Promise<'more' | undefined> {
    const { paths } = this.#options;
    this.#logger.info('Clean up orphaned pod directories', {}, 4);
    const uids = await namesIn(paths.podsDir);
    const gone = uids.filter((uid) => !uid.startsWith(ASIDE) && view.mayRemove(uid));
    // Read once for all, as there are many when many pods go together.
    const left = gone.length === 0 ? NOTHING_LEFT : await this.#findLeft();
    let cleaned = 0;
    for (const uid of gone) {
      signal.throwIfAborted();
      // The runtime may take its time, and somebody may want a pod of that uid again since.
      if (!(await this.#isGone(uid, signal)) || !view.mayRemove(uid)) continue;
      if (await this.#remove(uid, left, view)) cleaned++;
    }
    for (const folder of [paths.podsDir, paths.podLogsDir]) await this.#removeAsides(folder);
    for (const uid of this.#kept.keys()) if (!gone.includes(uid)) this.#kept.delete(uid);
    publishTo(this.#options.channels, orphanedVolumesCleaned, { cleaned, failed: this.#kept.size });
    await this.#cleanUpLinks(new Set(uids), signal);
    return cleaned < gone.length ? 'more' : undefined;
  }

  /** Removes links of owned pods that lead to missing logs. It reads each link, so it runs now and then. */
  async #cleanUpLinks(ours: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#linksDueMs) return;
    this.#linksDueMs = nowMs + LINKS_PERIOD_MS;
    for (const { link, uid, target } of await this.#links()) {
      signal.throwIfAborted();
      if (!ours.has(uid) || (await isThere(target))) continue;
      // A log is missing for a moment while it is rotated: only that of an ended container is gone for good.
      const { status, error } = this.#options.pods.get(uid);
      const isRunning = status.containers.some(
        ({ logPath, state }) => logPath === target && state !== 'exited',
      );
      if (error === undefined && !isRunning) await unlink(link).catch(() => undefined);
    }
  }

  /** Nothing of it is left in the runtime now. */
  async #isGone(uid: string, signal: AbortSignal): Promise<boolean> {
    const { pods, runtime } = this.#options;
    const { status, error } = pods.get(uid);
    // Usually this answers it without a call.
    if (error !== undefined || status.sandboxes.length + status.containers.length > 0) return false;
    try {
      return (await runtime.findPod(uid, signal)) === undefined;
    } catch (error) {
      signal.throwIfAborted();
      this.#keep(uid, error);
      return false;
    }
  }

  /** Returns whether nothing of it is left. */
  async #remove(uid: string, left: Left, view: { mayRemove(podUid: string): boolean }): Promise<boolean> {
    const { paths, tearDownVolumes, readMounts = readOwnMountinfo } = this.#options;
    const folder = paths.podDir(uid);
    try {
      await tearDownVolumes(uid);
      if (!this.#kept.has(uid)) {
        this.#logger.info('Cleaned up orphaned pod volumes dir', { podUID: uid, path: folder }, 2);
      }
      // Paths in the table of mounts have no links.
      const mounted = findMountBelow(parseMountinfo(await readMounts()), await realpath(folder));
      if (mounted !== undefined) throw new Error(`${mounted.mountPoint} is still mounted`);
      // Once more, as reading the mounts took time.
      if (!view.mayRemove(uid)) return false;
      this.#removing = uid;
      this.#logger.info('Orphaned pod found, removing', { podUID: uid }, 3);
      for (const { link } of left.links.get(uid) ?? []) await rm(link, { force: true });
      for (const name of left.logFolders.get(uid) ?? []) await moveAside(paths.podLogsDir, name);
      // Last, as it identifies the owner of the rest.
      await moveAside(paths.podsDir, uid);
      this.#kept.delete(uid);
      return true;
    } catch (error) {
      this.#keep(uid, error);
      return false;
    } finally {
      this.#removing = undefined;
    }
  }

  /** Includes those of an earlier run. One that stays does not block others. */
  async #removeAsides(folder: string): Promise<void> {
    const names = await namesIn(folder);
    for (const name of names.filter((each) => each.startsWith(ASIDE))) {
      const path = join(folder, name);
      try {
        await removeTree(path);
        this.#stuck.delete(path);
      } catch (error) {
        if (this.#stuck.has(path)) continue;
        this.#stuck.add(path);
        this.#logger.error('Failed to remove what is left of a pod that is gone, trying again', error, {
          path,
        });
      }
    }
  }

  #keep(uid: string, error: unknown): void {
    const why = String(error);
    if (this.#kept.get(uid) === why) return;
    this.#kept.set(uid, why);
    this.#logger.error('Failed to remove the folders of a pod that is gone, trying again', error, {
      podUID: uid,
    });
  }

  async #findLeft(): Promise<Left> {
    const names = await namesIn(this.#options.paths.podLogsDir);
    return {
      links: groupByUid(await this.#links(), ({ uid }) => uid),
      logFolders: groupByUid(
        names.filter((name) => !name.startsWith(ASIDE)),
        uidOfLogFolder,
      ),
    };
  }

  /** Every link to a log below the folder of the logs of pods. */
  async #links(): Promise<LogLink[]> {
    const { containerLogLinksDir: folder, paths } = this.#options;
    if (folder === undefined) return [];
    const links: LogLink[] = [];
    for (const name of await namesIn(folder)) {
      if (!name.endsWith('.log')) continue;
      const link = join(folder, name);
      const target = await readlink(link).catch(() => '');
      if (target === '' || !isStrictlyBelow(target, paths.podLogsDir)) continue;
      const [logFolder = ''] = target
        .slice(paths.podLogsDir.length)
        .split('/')
        .filter((part) => part !== '');
      links.push({ link, target, uid: uidOfLogFolder(logFolder) });
    }
    return links;
  }
}

/** Moves the folder away in one step: anything created under its name from now on is a new one. */
async function moveAside(folder: string, name: string): Promise<void> {
  const aside = join(folder, ASIDE + name);
  await removeTree(aside);
  await rename(join(folder, name), aside);
}

/** `<namespace>_<name>_<uid>`: neither of the first two has an underscore. */
function uidOfLogFolder(name: string): string {
  return name.split('_').slice(2).join('_');
}

function groupByUid<T>(items: readonly T[], uidOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const uid = uidOf(item);
    const group = groups.get(uid);
    if (group === undefined) groups.set(uid, [item]);
    else group.push(item);
  }
  return groups;
}

async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    (error: unknown) => systemCodeOf(error) !== 'ENOENT',
  );
}
