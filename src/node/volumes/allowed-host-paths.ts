/**
 * The paths of the node that pods may mount, opened so that no pod can lead the agent out of them.
 *
 * In: the path of a hostPath volume, and the node's allowed paths. Out: a handle of what is there. A pod that
 * may write below an allowed path can replace a folder there by a link at any moment. So the path is opened
 * name by name from the allowed one, and every later step uses the handle: the check of the type, a new file
 * or folder, the mount.
 *
 * It assumes that the way to an allowed path itself belongs to the node's owner. One that leads through a
 * folder that pods may write to is refused.
 *
 * @module
 */
import { open, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { type AllowedHostPath, findAllowedHostPath } from '#kube/node/node-policy.js';
import { type HostPathVolume } from '#kube/pod/volume.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import {
  openBelow,
  type OpenedPlace,
  openExistingBelow,
  openPlaceIn,
  UnsafePathError,
} from '#base/fs/open-below.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { assertHostPathType } from './prepare-host-path.js';

/** Where to begin, and the rest of a path. */
interface Way {
  /** Existing, and without links. */
  readonly base: string;
  /** Relative to the base. */
  readonly rest: string;
  /** What errors call the base. */
  readonly baseName: string;
}

const NEW_FOLDER_MODE = 0o755;
const NEW_FILE_MODE = 0o644;
/** As in the kernel. */
const MAX_LINKS = 40;

/** See the module. */
export class AllowedHostPaths {
  readonly #allowed: readonly AllowedHostPath[];

  constructor(allowed: readonly AllowedHostPath[]) {
    // The others change nothing, and what they are is up to pods.
    this.#allowed = allowed.filter((each) => findAllowedHostPath(each.path, allowed) === each);
  }

  /** Rejects if pods may not mount the path, also after following its links. It need not exist. */
  async check(path: string): Promise<void> {
    const place = await this.#inWords(path, async (way) =>
      openExistingBelow(way.base, way.rest, way.baseName),
    );
    await place?.handle.close();
  }

  /**
   * Opens what is at the path, and creates what is missing if its type allows that; without a type a folder,
   * as runtimes do. The caller closes it.
   *
   * Rejects if pods may not mount it, and in the kubelet's words if it is not what its type says.
   */
  async open({ path, type = '' }: HostPathVolume): Promise<OpenedPlace> {
    const place = await this.#inWords(path, async (way) => {
      const { base, rest, baseName } = way;
      if (type === '' || type === 'DirectoryOrCreate') {
        const found = await openExistingBelow(base, rest, baseName);
        return found ?? openBelow(base, rest, NEW_FOLDER_MODE, baseName);
      }
      if (type === 'FileOrCreate') return openOrMakeFile(way);
      return openExistingBelow(base, rest, baseName);
    });
    try {
      assertHostPathType({ path, type }, place?.facts);
      return place!;
    } catch (error) {
      await place?.handle.close();
      throw error;
    }
  }

  async #inWords<T>(path: string, act: (way: Way) => Promise<T>): Promise<T> {
    const above = findAllowedHostPath(path, this.#allowed);
    if (above === undefined) throw new Error(`hostPath ${path} is not below a path of --allowed-host-paths`);
    try {
      await this.#refuseWritableWay(above);
      return await act(await findWay(path, above));
    } catch (error) {
      if (!(error instanceof UnsafePathError)) throw error;
      throw new Error(`hostPath ${path} is not allowed: ${error.message}`, { cause: error });
    }
  }

  /** The links of an allowed path are followed, but not those that pods can make. */
  async #refuseWritableWay(above: AllowedHostPath): Promise<void> {
    const others = this.#allowed.filter((each) => !each.readOnly && !isBelow(above.path, each.path));
    if (others.length === 0) return;
    const folders = await foldersOnWay(above.path);
    for (const { path } of others) {
      const real = await realpath(path).catch(() => path);
      const isInside = (folder: string): boolean =>
        isBelow(folder, real) && (above.readOnly || folder !== real);
      if (!folders.some(isInside)) continue;
      const why = `links lead from ${above.path} of --allowed-host-paths into ${path}, where pods may write`;
      throw new UnsafePathError(why);
    }
  }
}

/** From the allowed path, or the nearest folder above it as long as it does not exist. */
async function findWay(path: string, above: AllowedHostPath): Promise<Way> {
  const names = namesOf(path);
  for (let count = namesOf(above.path).length; ; count--) {
    try {
      const base = await realpath(`/${names.slice(0, count).join('/')}`);
      const rest = names.slice(count).join('/');
      return { base, rest, baseName: `${above.path} of --allowed-host-paths` };
    } catch (error) {
      if (count === 0 || systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }
}

/** Undefined if there is no folder to create the file in. */
async function openOrMakeFile({ base, rest, baseName }: Way): Promise<OpenedPlace | undefined> {
  const found = await openExistingBelow(base, rest, baseName);
  const name = namesOf(rest).at(-1);
  if (found !== undefined || name === undefined) return found;
  await using folder = await openExistingBelow(base, dirname(rest), baseName);
  if (folder === undefined) return undefined;
  await makeFile(join(pathOfHandle(folder.handle), name));
  const file = await openPlaceIn(folder.handle, name);
  if (!file.facts.isSymbolicLink()) return file;
  await file.handle.close();
  throw new UnsafePathError(`${name} has become a link while it was created`);
}

/** Leaves alone what has appeared meanwhile. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, 'ax', NEW_FILE_MODE)).close();
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  }
}

/** Every folder in which a name is looked up on the way to a path, and its end; all without links. */
async function foldersOnWay(path: string): Promise<string[]> {
  const names = namesOf(path);
  const folders = ['/'];
  let links = 0;
  for (let folder = '/'; names.length > 0; folders.push(folder)) {
    const name = names.shift()!;
    const target = name === '..' ? undefined : await findTarget(join(folder, name));
    if (target === undefined) {
      folder = join(folder, name);
      continue;
    }
    if (++links > MAX_LINKS) throw new UnsafePathError(`${path} has too many links`);
    names.unshift(...namesOf(target));
    if (isAbsolute(target)) folder = '/';
  }
  return folders;
}

/** Undefined for what is no link, or missing. */
async function findTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (['EINVAL', 'ENOENT', 'ENOTDIR'].includes(systemCodeOf(error))) return undefined;
    throw error;
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
