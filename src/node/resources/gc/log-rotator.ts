/**
 * Rotates the logs of running containers, so that no container fills the disk.
 *
 * In: the observed state of every pod. Out: `0.log` becomes `0.log.20260102-030405` and later `….gz`, with
 * the kubelet's names. It assumes that it may be killed at any point: a line is always in exactly one file,
 * or briefly in two, and the next pass continues where the last one ended. A missing log was moved but not
 * reopened, so that is done first.
 *
 * It also assumes that a runtime may not answer for one container for minutes. Logs are rotated one after
 * another, but one that takes longer than a second continues in the background. For a pod whose status is
 * unavailable, the last known status counts.
 *
 * @module
 */
import { constants, createWriteStream, type Stats } from 'node:fs';
import { lstat, open, rename, rm, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type IsOurs, type PodStatus } from '#watch';
import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { openLinkFree } from '#base/fs/link-free-folder.js';
import { Mutex } from '#base/async/mutex.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { syncPath } from '#base/fs/whole-file.js';
import { findRotatedLogs, isStrictlyBelow } from './container-logs.js';
import { planLogRotation, rotatedName } from './log-rotation-plan.js';
import { type LastKnownPods } from './observed-pods.js';
import { UnchangedLogs, type WatchFile } from './unchanged-logs.js';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** What {@link LogRotator} needs. */
export interface LogRotatorOptions {
  readonly clock: Clock;
  readonly pods: LastKnownPods;
  readonly isOurs: IsOurs;
  readonly changes: Pick<RuntimeChanges, 'reopenContainerLog'>;
  /** Other logs are not touched. */
  readonly podLogsDir: string;
  /** A log of this many bytes is rotated (default: 10 MiB). */
  readonly maxSizeBytes?: number;
  /** For one start of a container, including the log itself (default: 5; at least 2). */
  readonly maxFiles?: number;
  /** Default: 10 s. */
  readonly periodMs?: number;
  /** See {@link UnchangedLogs}. */
  readonly watch?: WatchFile;
  readonly logger?: Logger;
}

interface RunningLog {
  readonly pod: PodRef;
  readonly containerId: string;
  readonly path: string;
}

/** How long the others wait for a log, in milliseconds: a runtime opens a file in a few. */
const PATIENCE_MS = 1_000;
/** How many continue in the background; a runtime that answers for none of them is better left alone. */
const MAX_IN_BACKGROUND = 16;

/** See the module. */
export class LogRotator {
  readonly #options: LogRotatorOptions;
  readonly #logger: Logger;
  readonly #still: UnchangedLogs;
  /** The rotations under way, by the path of the log; none rejects. */
  readonly #going = new Map<string, Promise<void>>();
  /** Compressing takes a whole core, so one at a time. */
  readonly #compressing = new Mutex();
  /** Valid as long as there is no new view of the pod. */
  readonly #logsOf = new WeakMap<PodStatus, readonly RunningLog[]>();

  constructor(options: LogRotatorOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    const { clock, watch } = options;
    this.#still = new UnchangedLogs({ clock, ...(watch && { watch }) });
  }

  /** Checks all logs that may have grown every ten seconds, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs = 10_000 } = this.#options;
    try {
      for (;;) {
        await clock.sleep(periodMs, signal);
        await this.rotate(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await Promise.all(this.#going.values());
      this.#still.close();
    }
  }

  /**
   * One pass over the logs of all running owned containers; slow ones may continue after it.
   *
   * Rejects only with the signal's reason.
   */
  async rotate(signal: AbortSignal): Promise<void> {
    const logs = this.#runningLogs();
    this.#still.keepOnly(new Set(logs.map(({ path }) => path)));
    for (const log of logs) {
      signal.throwIfAborted();
      if (this.#going.has(log.path) || this.#still.isStill(log.path)) continue;
      const rotation = this.#tryToRotate(log).finally(() => this.#going.delete(log.path));
      this.#going.set(log.path, rotation);
      await settlesWithin(rotation, PATIENCE_MS, this.#options.clock);
      while (this.#going.size >= MAX_IN_BACKGROUND)
        await abortable(Promise.race(this.#going.values()), signal);
    }
  }

  /** Never rejects. */
  async #tryToRotate(log: RunningLog): Promise<void> {
    try {
      await this.#rotateIfFull(log);
    } catch (error) {
      this.#still.forget(log.path);
      this.#logger.error('Failed to rotate log for container', error, {
        pod: log.pod,
        containerID: log.containerId,
        path: log.path,
      });
    }
  }

  #runningLogs(): RunningLog[] {
    const { pods } = this.#options;
    const all: RunningLog[] = [];
    for (const uid of pods.uids()) {
      // Containers keep writing while their status is unavailable, so use the last known one.
      const status = pods.getLastKnown(uid);
      let logs = this.#logsOf.get(status);
      if (logs === undefined) {
        logs = this.#findLogs(uid, status);
        this.#logsOf.set(status, logs);
      }
      all.push(...logs);
    }
    return all;
  }

  #findLogs(uid: string, status: PodStatus): RunningLog[] {
    const { isOurs, podLogsDir } = this.#options;
    return status.containers
      .filter(({ state, labels }) => state === 'running' && isOurs(labels, uid))
      .filter(({ logPath }) => logPath !== '' && isStrictlyBelow(logPath, podLogsDir))
      .map(({ id, logPath }) => ({ pod: status, containerId: id, path: logPath }));
  }

  async #rotateIfFull(log: RunningLog): Promise<void> {
    const { maxSizeBytes = 10 * 1024 * 1024 } = this.#options;
    await using folder = await openLinkFree(dirname(log.path));
    const path = join(folder.path, basename(log.path));
    let facts = await findFile(path);
    if (facts === undefined) {
      await this.#reopen(log);
      facts = await findFile(path);
    }
    if (facts?.isFile() !== true) {
      this.#still.forget(log.path);
      return;
    }
    if (facts.size < maxSizeBytes) {
      this.#still.note(log.path, path, facts);
      return;
    }
    this.#still.forget(log.path);
    await this.#prepare(path);
    await this.#moveAway(log, path);
  }

  /** Removes and compresses older rotated files, as nobody writes to them any more. */
  async #prepare(path: string): Promise<void> {
    const { maxFiles = 5 } = this.#options;
    const folder = dirname(path);
    const plan = planLogRotation(basename(path), await findRotatedLogs(path), maxFiles);
    for (const name of plan.remove) await rm(join(folder, name), { force: true });
    for (const name of plan.compress) await this.#compressing.run(() => compress(join(folder, name)));
  }

  async #moveAway(log: RunningLog, path: string): Promise<void> {
    const name = rotatedName(basename(path), await findRotatedLogs(path), this.#options.clock.now());
    const rotated = join(dirname(path), name);
    await rename(path, rotated);
    try {
      await this.#reopen(log);
    } catch (error) {
      // Moves it back for a retry, unless the runtime has created a new file after all.
      if ((await findFile(path)) === undefined) await rename(rotated, path);
      throw error;
    }
  }

  async #reopen({ containerId, pod }: RunningLog): Promise<void> {
    await this.#options.changes.reopenContainerLog(containerId, { pod });
  }
}

/**
 * Replaces a file by its `….gz`, which is complete and on disk before the file goes.
 *
 * Follows no link for reading or writing, as pods that ship logs may write here.
 */
async function compress(path: string): Promise<void> {
  if ((await findFile(path))?.isFile() !== true) return;
  const temporary = `${path}.tmp`;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { mode } = await file.stat();
    await rm(temporary, { force: true });
    await pipeline(
      file.createReadStream({ autoClose: false }),
      createGzip(),
      createWriteStream(temporary, { flags: 'wx', mode: mode & 0o777 }),
    );
    await syncPath(temporary);
    await rename(temporary, `${path}.gz`);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await syncPath(dirname(path));
  await unlink(path);
}

/** The file itself, not a link's target. */
async function findFile(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
