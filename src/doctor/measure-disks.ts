import { constants } from 'node:fs';
import { open, stat, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from './looked.js';
import { type DiskFacts, type FsyncFacts } from './machine-facts.js';
import { percentileOf } from './percentile.js';

/** A folder whose file system matters. */
export interface DiskPath {
  readonly path: string;
  readonly purpose: string;
}

const WRITES = 5;
const WRITE_BYTES = 4_096;
const FSYNC_LIMIT_MS = 30_000;
/** O_TMPFILE of open(2): a file without a name, which is gone with the process. Node has no constant for it. */
const UNNAMED = 0o20200000;

/** How full the file systems of these folders are, each once; those that are not there are left out. */
export async function measureDisks(files: HostFiles, paths: readonly DiskPath[]): Promise<DiskFacts[]> {
  const seen = new Set<number>();
  const disks: DiskFacts[] = [];
  for (const { path, purpose } of paths) {
    try {
      const { dev } = await files.within(stat(files.pathOf(path)));
      if (seen.has(dev)) continue;
      const { bsize, blocks, bavail, files: inodes, ffree } = await files.within(statfs(files.pathOf(path)));
      seen.add(dev);
      disks.push({
        ...{ path, purpose, totalBytes: blocks * bsize, availableBytes: bavail * bsize },
        ...{ totalInodes: inodes, freeInodes: ffree },
      });
    } catch {
      // Not there, or it hangs: then the processes that wait for it say so.
    }
  }
  return disks;
}

/** Measures how long a small write takes to arrive on the disk below a folder. Leaves nothing there. */
export async function measureFsync(
  files: HostFiles,
  path: string,
  clock: Clock,
): Promise<Looked<FsyncFacts>> {
  try {
    const times = await files.within(writeAndSync(files.pathOf(path), clock), FSYNC_LIMIT_MS);
    times.sort((a, b) => a - b);
    return known({ path, writes: times.length, medianMs: percentileOf(times, 0.5), maxMs: times.at(-1)! });
  } catch (error) {
    return notKnown(`no file could be written to ${path}: ${messageOf(error)}`);
  }
}

async function writeAndSync(folder: string, clock: Clock): Promise<number[]> {
  const file = await openUnnamed(folder);
  try {
    const block = Buffer.alloc(WRITE_BYTES);
    const times: number[] = [];
    for (let count = 0; count < WRITES; count++) {
      const startedMs = clock.monotonicMs();
      await file.write(block, 0, WRITE_BYTES, count * WRITE_BYTES);
      await file.sync();
      times.push(clock.monotonicMs() - startedMs);
    }
    return times;
  } finally {
    await file.close();
  }
}

async function openUnnamed(folder: string): Promise<Awaited<ReturnType<typeof open>>> {
  try {
    return await open(folder, constants.O_RDWR | UNNAMED, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EOPNOTSUPP' && code !== 'EISDIR') throw error;
    // File systems without such files: it loses its name before anything is written.
    const path = join(folder, `.podloop-doctor-${process.pid}`);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    await unlink(path);
    return file;
  }
}
