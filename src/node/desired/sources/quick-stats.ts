import { type BigIntStats, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';

/**
 * File systems that answer from memory or from a disk of this machine, by the number that statfs(2) gives: ext2 to ext4,
 * xfs, btrfs, f2fs, bcachefs, zfs, tmpfs, ramfs, overlay.
 */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  ...[0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1],
  ...[0x0102_1994, 0x8584_58f6, 0x794c_7630],
]);
/** An answer out of memory takes a few microseconds; longer ones than that … */
const SLOW_MS = 2;
/** … may come of a process that was not let run in between, but not so many. */
const SLOW_LIMIT = 3;

/**
 * Facts about files that are known to be there, asked for at once and not by one of Node's threads, which costs more than ten
 * times as much. Only of a local file system, whose answers lie in memory, and no more once some were slow: then the disk had
 * to be asked.
 */
export class QuickStats {
  readonly #isLocal: boolean;
  #slow = 0;

  /** For files right in this folder. Rejects when it cannot be asked about. */
  static async in(folder: string): Promise<QuickStats> {
    const { type } = await statfs(folder);
    return new QuickStats(LOCAL_FILE_SYSTEMS.has(type));
  }

  private constructor(isLocal: boolean) {
    this.#isLocal = isLocal;
  }

  /** Undefined when it must be asked for in another way. Never throws. */
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
