/**
 * Opens files and folders below a folder that hostile processes may write to meanwhile.
 *
 * In: a folder and a path below it. Out: a handle of what is there, which cannot be replaced. It assumes that
 * /proc is mounted: Node cannot open a name relative to a handle, but the kernel does so for
 * `/proc/self/fd/<handle>/<name>`. Each name is opened by itself and never through a link.
 *
 * @module
 */
import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isBelow } from '../proc/mountinfo.js';
import { pathOfHandle } from './path-of-handle.js';
import { systemCodeOf } from '../errors/system-code.js';

/**
 * open(2): opens a path without access to its content. Node has no name for this flag; its value is the same
 * on x86, Arm, RISC-V, s390x and POWER.
 */
export const O_PATH = 0o10000000;
const WITHOUT_LINKS = O_PATH | constants.O_NOFOLLOW;

/** How often to retry a path that changes meanwhile. */
const MAX_TRIES = 10;

/** An opened path, which the caller has to close. */
export interface OpenedPlace extends AsyncDisposable {
  readonly handle: FileHandle;
  readonly facts: Stats;
}

/** A path leads out of its folder, or changes faster than it can be opened. */
export class UnsafePathError extends Error {}

/** One attempt to open a path. */
interface Attempt {
  /** In order, without `.` and `..`. */
  readonly names: readonly string[];
  /** Creates missing folders, the last one with this mode (of mkdir if undefined); creates nothing without it. */
  readonly making: { readonly mode: number | undefined } | undefined;
  /** What errors call the base. */
  readonly baseName: string;
}

/**
 * Opens `path` below `base`, or creates the missing folders in it with `newMode`.
 *
 * Existing links are followed as long as they stay below `base`. Rejects with an {@link UnsafePathError} if
 * they do not, or if the path is swapped for a link meanwhile.
 *
 * @param base an absolute path that no hostile process can replace, whose own links are followed; or an open
 * folder, which stays the same whoever replaces it.
 * @param path relative, without `..`.
 * @param newMode the mode of the last folder that is created, regardless of the umask (default: mkdir's).
 * @param baseName what errors call the base.
 */
export async function openBelow(
  base: string | FileHandle,
  path: string,
  newMode: number | undefined,
  baseName = 'the volume',
): Promise<OpenedPlace> {
  const place = await openWithRetries(base, path, { making: { mode: newMode }, baseName });
  return place!;
}

/** Like {@link openBelow}, but creates nothing: undefined if the path does not exist. */
export async function openExistingBelow(
  base: string | FileHandle,
  path: string,
  baseName = 'the volume',
): Promise<OpenedPlace | undefined> {
  return openWithRetries(base, path, { making: undefined, baseName });
}

async function openWithRetries(
  base: string | FileHandle,
  path: string,
  how: Omit<Attempt, 'names'>,
): Promise<OpenedPlace | undefined> {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (path.startsWith('/') || names.includes('..'))
    throw new UnsafePathError(`${path} leads out of ${how.baseName}`);
  let problem: unknown;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      await using root =
        typeof base === 'string' ? await openPlace(await realpath(base)) : await reopen(base);
      return await openOnce(root.handle, { ...how, names });
    } catch (error) {
      // Swapped between two steps: by an update of the volume's content, or by an attack.
      if (!isRace(error)) throw error;
      problem = error;
    }
  }
  throw problem;
}

/** Like {@link openPlace}, for a name in an open folder. */
export function openPlaceIn(folder: FileHandle, name: string): Promise<OpenedPlace> {
  return openPlace(join(pathOfHandle(folder), name));
}

async function openOnce(
  root: FileHandle,
  { names, making, baseName }: Attempt,
): Promise<OpenedPlace | undefined> {
  const base = await readlink(pathOfHandle(root));
  const { found, missing } = await findExisting(base, names);
  if (!isBelow(found, base))
    throw new UnsafePathError(`${join(...names)} leads out of ${baseName}, to ${found}`);
  if (missing.length > 0) {
    await refuseDanglingLink(join(found, missing[0]!), base, baseName);
    if (making === undefined) return undefined;
  }
  const existing = relative(base, found)
    .split(sep)
    .filter((name) => name !== '');
  // The path was resolved to names only: from here on each step starts from the open folder.
  let place = await reopen(root);
  try {
    for (const name of existing) place = await step(place, name);
    let isMade = false;
    for (const name of missing) {
      isMade = await makeFolder(place, name, making?.mode);
      place = await step(place, name);
    }
    // Not through mkdir, as the umask would remove bits. Something that appeared meanwhile is not changed.
    if (isMade && making?.mode !== undefined && place.facts.isDirectory())
      await chmod(pathOfHandle(place.handle), making.mode);
    return place;
  } catch (error) {
    await place.handle.close();
    throw error;
  }
}

/** The existing part of a path, with links resolved, and the missing names. */
async function findExisting(
  base: string,
  names: readonly string[],
): Promise<{ readonly found: string; readonly missing: readonly string[] }> {
  for (let count = names.length; count > 0; count--) {
    try {
      return { found: await realpath(join(base, ...names.slice(0, count))), missing: names.slice(count) };
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }
  return { found: base, missing: names };
}

/** A missing path may be a dangling link: nothing is created in its place or at its target. */
async function refuseDanglingLink(path: string, base: string, baseName: string): Promise<void> {
  const target = await readlink(path).catch(() => undefined);
  if (target === undefined) return;
  const end = resolve(dirname(path), target);
  throw new UnsafePathError(
    isBelow(end, base)
      ? `${basename(path)} is a link to ${end}, which is not there`
      : `${basename(path)} leads out of ${baseName}, to ${end}`,
  );
}

/** Returns false if it already exists. */
async function makeFolder({ handle }: OpenedPlace, name: string, mode = 0o755): Promise<boolean> {
  try {
    await mkdir(join(pathOfHandle(handle), name), mode);
    return true;
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
    return false;
  }
}

/** Opens the next name and closes the folder it started from. */
async function step(from: OpenedPlace, name: string): Promise<OpenedPlace> {
  const next = await openPlaceIn(from.handle, name);
  if (next.facts.isSymbolicLink()) {
    await next.handle.close();
    throw new UnsafePathError(`${name} has become a link while it was being read`);
  }
  await from.handle.close();
  return next;
}

/**
 * Opens a file or folder without access to its content: a pipe does not block, and nothing happens to a
 * device.
 *
 * A link at the end of the path is opened itself. The handle can be used for `stat` and, by its path, for
 * opening the same file.
 */
export function openPlace(path: string): Promise<OpenedPlace> {
  return toPlace(path, WITHOUT_LINKS);
}

/** Opens the same file or folder with a separate handle. */
function reopen(handle: FileHandle): Promise<OpenedPlace> {
  return toPlace(pathOfHandle(handle), O_PATH);
}

async function toPlace(path: string, flags: number): Promise<OpenedPlace> {
  const handle = await open(path, flags);
  try {
    const facts = await handle.stat();
    return { handle, facts, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function isRace(error: unknown): boolean {
  if (error instanceof UnsafePathError) return true;
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE'].includes(systemCodeOf(error));
}
