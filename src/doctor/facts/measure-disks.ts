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
import { findMountOf, parseMountinfo } from '#base/proc/mountinfo.js';

/** A folder whose file system matters. */
export interface DiskPath {
  readonly path: string;
  readonly purpose: string;
  readonly holdsImages?: boolean;
}

/** Room on file systems, and those that did not answer. */
export interface DiskLook {
  readonly disks: readonly DiskFacts[];
  readonly silentDisks: readonly SilentDisk[];
}

const WRITES = 5;
const WRITE_BYTES = 4_096;
const FSYNC_LIMIT_MS = 30_000;
/** O_TMPFILE of open(2): a file without a name, which is gone with the process. Node has no constant for it. */
const UNNAMED = 0o20200000;

/** How full the file systems of these folders are, each once; those that are not there are left out. */
export async function measureDisks(files: HostFiles, paths: readonly DiskPath[]): Promise<DiskLook> {
  const seen = new Set<number>();
  const disks: DiskFacts[] = [];
  const silentDisks: SilentDisk[] = [];
  const isReadOnly = await readReadOnlyMounts(files);
  for (const { path, purpose, holdsImages = false } of paths) {
    try {
      const { dev } = await files.stat(path);
      if (seen.has(dev)) continue;
      const { bsize, blocks, bavail, files: inodes, ffree } = await files.statfs(path);
      seen.add(dev);
      disks.push({
        ...{ path, purpose, holdsImages, isReadOnly: isReadOnly(await files.resolve(path)) },
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
    const here = await files.within(files.locate(path));
    await files.within(writeAndSync(here, clock, times), FSYNC_LIMIT_MS);
  } catch (error) {
    if (!(error instanceof SilentFilesError))
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

/** Tells of paths without links whether nothing can be written there; of none, where the mounts cannot be read. */
async function readReadOnlyMounts(files: HostFiles): Promise<(path: string) => boolean> {
  const mounts = parseReadOnlyMounts((await files.find(MOUNTS)) ?? '');
  return (path) => findMountOf(mounts, path)?.isReadOnly === true;
}

/** The mounts of a mountinfo file; read-only is the mount itself, or the file system below it. */
function parseReadOnlyMounts(
  text: string,
): (ReturnType<typeof parseMountinfo>[number] & { readonly isReadOnly: boolean })[] {
  return text.split('\n').flatMap((line) =>
    parseMountinfo(line).map((mount) => {
      const [head = '', tail = ''] = line.split(' - ');
      const options = [head.split(' ')[5] ?? '', tail.split(' ')[2] ?? ''];
      return { ...mount, isReadOnly: options.some((each) => each.split(',').includes('ro')) };
    }),
  );
}
