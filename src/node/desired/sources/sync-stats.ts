import { type BigIntStats, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';

/**
 * File systems that answer from memory or a local disk, by their number in statfs(2).
 *
 * These are ext2 to ext4, xfs, btrfs, f2fs, bcachefs, zfs, tmpfs, ramfs, overlay.
 */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  ...[0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1],
  ...[0x0102_1994, 0x8584_58f6, 0x794c_7630],
]);
/** An answer from memory takes a few microseconds; a longer one … */
const SLOW_MS = 2;
/** … may come from a process that was not scheduled in between, but not this many. */
const SLOW_LIMIT = 3;

/**
 * Synchronous facts about known files, as one of Node's threads costs more than ten times as much.
 *
 * Only for a local file system, whose answers are in memory. It stops once some were slow, as these needed
 * the disk.
 */
export class SyncStats {
  readonly #isLocal: boolean;
  #slow = 0;

  /** For files directly in this folder. Rejects when its file system cannot be determined. */
  static async in(folder: string): Promise<SyncStats> {
    const { type } = await statfs(folder);
    return new SyncStats(LOCAL_FILE_SYSTEMS.has(type));
  }

  private constructor(isLocal: boolean) {
    this.#isLocal = isLocal;
  }

  /** Undefined when the file has to be checked in another way. Never throws. */
  find(path: string): BigIntStats | undefined {
    if (!this.#isLocal || this.#slow >= SLOW_LIMIT) return undefined;
    const startedMs = performance.now();
    try {
      return statSync(path, { bigint: true, throwIfNoEntry: false });
    } catch {
      return undefined;
    } finally {
      if (performance.now() - startedMs >= SLOW_MS) this.#slow++;
    }
  }
}
