import { constants } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { closeOnFailure } from '#base/async/close-on-failure.js';
import { messageOf } from '#base/errors/errors.js';
import { type HostFiles, SilentFilesError } from './host-files.js';
import { known, type Looked, notKnown } from '../looked.js';
import { type DiskFacts, type FsyncFacts, type SilentDisk } from './machine-facts.js';
import { percentileOf } from '#base/text/percentile.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import {
  findMountOf,
  isFileSystemReadOnly,
  type MountOrigin,
  parseMountOrigins,
} from '#base/proc/mountinfo.js';

/** A folder whose file system matters. */
export interface DiskPath {
  readonly path: string;
  readonly purpose: string;
  readonly holdsImages?: boolean;
  /** Whether the node is ill as soon as nothing can be written there. */
  readonly mustBeWritten?: boolean;
}

/** Room on file systems, and those that did not answer. */
export interface DiskLook {
  readonly disks: readonly DiskFacts[];
  readonly silentDisks: readonly SilentDisk[];
}

const WRITES = 5;
const WRITE_BYTES = 4_096;
/** A write that takes longer is one that hangs for whoever waits for it; nobody waits longer for the whole examination. */
const FSYNC_LIMIT_MS = 10_000;
/** O_TMPFILE of open(2): a file without a name, which is gone with the process. Node has no constant for it. */
const UNNAMED = 0o20200000;

/** How full the file systems of these folders are, each once; those that are not there are left out. */
export async function measureDisks(files: HostFiles, paths: readonly DiskPath[]): Promise<DiskLook> {
  const seen = new Set<number>();
  const disks: DiskFacts[] = [];
  const silentDisks: SilentDisk[] = [];
  const findMount = await readMounts(files);
  for (const { path, purpose, holdsImages = false, mustBeWritten = holdsImages } of paths) {
    try {
      const { dev } = await files.stat(path);
      if (seen.has(dev)) continue;
      const { bsize, blocks, bavail, files: inodes, ffree } = await files.statfs(path);
      seen.add(dev);
      const mount = findMount(await files.resolve(path));
      disks.push({
        ...{ path, purpose, holdsImages, mustBeWritten, device: mount?.device ?? '' },
        isReadOnly: mount !== undefined && (mount.isReadOnly || isFileSystemReadOnly(mount)),
        ...{ totalBytes: blocks * bsize, availableBytes: bavail * bsize },
        ...{ totalInodes: inodes, freeInodes: ffree },
      });
    } catch (error) {
      if (error instanceof SilentFilesError) silentDisks.push({ path, purpose, forMs: error.forMs });
      // Else it is not there.
    }
  }
  return { disks, silentDisks };
}

/** Measures how long small writes take to arrive on the disk below a folder. Leaves nothing there. */
export async function measureFsync(
  files: HostFiles,
  path: string,
  clock: Clock,
): Promise<Looked<FsyncFacts>> {
  const times: number[] = [];
  let hungMs: number | undefined;
  try {
    if (!files.hasThread()) return notKnown('files that do not answer hold every thread');
    const here = await files.within(files.locate(path));
    await files.within(writeAndSync(here, clock, times), FSYNC_LIMIT_MS);
  } catch (error) {
    if (!(error instanceof SilentFilesError) || !files.hasThread())
      return notKnown(`no file could be written to ${path}: ${messageOf(error)}`);
    hungMs = error.forMs;
  }
  const sorted = [...times].sort((a, b) => a - b);
  return known({
    ...{ path, writes: sorted.length, ...(hungMs === undefined ? {} : { hungMs }) },
    ...{ medianMs: percentileOf(sorted, 0.5), maxMs: sorted.at(-1) ?? 0 },
  });
}

/** Adds what each write took as it arrives, so that it is known also when the next one never does. */
async function writeAndSync(folder: string, clock: Clock, times: number[]): Promise<void> {
  const file = await openUnnamed(folder);
  try {
    const block = Buffer.alloc(WRITE_BYTES);
    for (let count = 0; count < WRITES; count++) {
      const startedMs = clock.monotonicMs();
      await file.write(block, 0, WRITE_BYTES, count * WRITE_BYTES);
      await file.sync();
      times.push(clock.monotonicMs() - startedMs);
    }
  } finally {
    await file.close();
  }
}

async function openUnnamed(folder: string): Promise<Awaited<ReturnType<typeof open>>> {
  try {
    return await open(folder, constants.O_RDWR | UNNAMED, 0o600);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code !== 'EOPNOTSUPP' && code !== 'EISDIR') throw error;
    // File systems without such files: it loses its name before anything is written.
    const path = join(folder, `.podloop-doctor-${process.pid}`);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    await closeOnFailure(file, () => unlink(path));
    return file;
  }
}

/** As the first process of the machine sees them, which is in no container. */
const MOUNTS = '/proc/1/mountinfo';

/** The mount that each path without links is on; none, where the mounts cannot be read. */
async function readMounts(files: HostFiles): Promise<(path: string) => MountOrigin | undefined> {
  const mounts = parseMountOrigins((await files.find(MOUNTS)) ?? '');
  return (path) => findMountOf(mounts, path);
}
