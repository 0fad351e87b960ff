import { chmod, chown, lstat, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { invalidArgument, refused } from '../rpc-error.js';
import { RecordFile } from '#base/fs/record-file.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { resolveInRoot } from './path-in-root.js';
import { runTool } from './run-tool.js';
import { type Trash } from './trash.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** The files that a container has as its root. */
export type ContainerRoot =
  /** Those of the host. */
  | { readonly kind: 'host' }
  /** To be mounted by overlayfs, in the container's own mount namespace. `lowerDirs`: the uppermost first. */
  | {
      readonly kind: 'overlay';
      readonly lowerDirs: readonly string[];
      readonly upperDir: string;
      readonly workDir: string;
      readonly volumes?: readonly AnonymousVolume[];
    }
  /** A copy of its own. */
  | { readonly kind: 'folder'; readonly path: string; readonly volumes?: readonly AnonymousVolume[] };

/** A folder of the container's own at a path that its image wants to be a volume. */
export interface AnonymousVolume {
  /** On the host; holds at first what the image has there. */
  readonly source: string;
  /** Absolute and normal, in the container. */
  readonly target: string;
}

/** The folders with the files of the image, the uppermost first. */
export function imageFoldersOf(root: ContainerRoot): readonly string[] {
  switch (root.kind) {
    case 'host':
      return ['/'];
    case 'folder':
      return [root.path];
    case 'overlay':
      return root.lowerDirs;
  }
}

/** Which image and which unpacked files a container uses. */
export interface RootUse {
  readonly imageId: string;
  readonly chainId: string;
  readonly kind: 'overlay' | 'folder';
  /** Paths in the container of its {@link AnonymousVolume}s: each has the folder of its place in the list. */
  readonly volumes?: readonly string[];
}

/** What {@link ContainerRoots.prepare} takes. */
export interface RootToPrepare extends RootUse {
  readonly containerId: string;
}

/** File systems of every container, which no volume of an image hides. */
const API_FOLDERS: readonly string[] = ['/proc', '/sys', '/dev'];

/**
 * Where an image's `VOLUME`s become volumes of a container: not where the container mounts something itself, and not
 * in its `/proc`, `/sys` and `/dev`. Pure.
 */
export function findVolumePaths(wanted: readonly string[], mounted: readonly string[]): readonly string[] {
  const normal = (path: string): string => posix.resolve('/', path);
  const taken = new Set(['/', ...mounted.map(normal)]);
  const paths = new Set(wanted.map(normal));
  return [...paths].filter((path) => !taken.has(path) && !API_FOLDERS.some((api) => isBelow(path, api)));
}

/** What {@link ContainerRoots.open} takes. */
export interface ContainerRootsOptions {
  /** Holds a folder for each container. */
  readonly folder: string;
  readonly trash: Trash;
  /** Tells where the files of a chain are. */
  readonly rootOf: (chainId: string) => string;
  /** How to copy (default: `cp -a`). */
  readonly copyTree?: CopyTree | undefined;
  readonly logger: Logger;
}

/** Copies a folder to a place where nothing is yet. Rejects with the signal's reason, half done, when that aborts. */
export type CopyTree = (from: string, to: string, signal: AbortSignal) => Promise<void>;

/** A root that is being made. */
interface Preparation {
  readonly result: Promise<ContainerRoot>;
  readonly cancel: AbortController;
}

/** The writable part of each container's root, and with it the knowledge which images are in use. */
export class ContainerRoots {
  readonly #folder: string;
  readonly #trash: Trash;
  readonly #rootOf: (chainId: string) => string;
  readonly #copyTree: CopyTree;
  readonly #uses = new Map<string, RootUse>();
  readonly #unreadable = new Set<string>();
  readonly #preparing = new Map<string, Preparation>();

  private constructor({ folder, trash, rootOf, copyTree = copyWithCp }: ContainerRootsOptions) {
    this.#copyTree = copyTree;
    this.#folder = folder;
    this.#trash = trash;
    this.#rootOf = rootOf;
  }

  /** Takes up what is there. */
  static async open(options: ContainerRootsOptions): Promise<ContainerRoots> {
    const { folder, logger } = options;
    const roots = new ContainerRoots(options);
    await makeFolder(folder, 0o700);
    for (const name of (await readdir(folder)).filter(isContainerId)) {
      try {
        const use = await factsOf(join(folder, name)).read();
        if (use === undefined) throw new Error('there are none');
        roots.#uses.set(name, use);
      } catch (error) {
        roots.#unreadable.add(name);
        logger.warn('The facts of a root cannot be read', { containerId: name, err: messageOf(error) });
      }
    }
    return roots;
  }

  /** Of all containers that have a root here, whether it is known which image it is of or not. */
  get containerIds(): readonly string[] {
    return [...this.#uses.keys(), ...this.#unreadable];
  }

  /** Whether it is known which images are in use: false as long as there is a root whose facts cannot be read. */
  get complete(): boolean {
    return this.#unreadable.size === 0;
  }

  /** Of all containers whose roots were prepared and not yet released. */
  get uses(): ReadonlyMap<string, RootUse> {
    return this.#uses;
  }

  /** Whether an image is in use, as far as that is known. */
  mayUse(imageId: string): boolean {
    return !this.complete || [...this.#uses.values()].some((use) => use.imageId === imageId);
  }

  /**
   * Makes a container's root, or finds the one that was made. The image counts as in use from the call on, not only
   * from its end.
   */
  prepare({ containerId, ...use }: RootToPrepare): Promise<ContainerRoot> {
    const place = this.#placeOf(containerId);
    const underWay = this.#preparing.get(containerId);
    if (underWay !== undefined) return underWay.result;
    const known = this.#uses.get(containerId);
    if (known !== undefined) return Promise.resolve(this.#describe(place, known));
    this.#uses.set(containerId, use);
    const cancel = new AbortController();
    const result = this.#make(place, use, cancel.signal)
      .catch((error: unknown) => {
        this.#uses.delete(containerId);
        throw error;
      })
      .finally(() => this.#preparing.delete(containerId));
    // Whoever asked for it may not have come to wait for it when it is cancelled.
    result.catch(() => undefined);
    this.#preparing.set(containerId, { result, cancel });
    return result;
  }

  /** Breaks off what is being made for a container, and resolves once nothing is any more. */
  async cancel(containerId: string): Promise<void> {
    const underWay = this.#preparing.get(containerId);
    underWay?.cancel.abort(refused(`the container ${containerId} is being removed`));
    await underWay?.result.catch(() => undefined);
  }

  /** Breaks off all that is being made. */
  async close(): Promise<void> {
    await Promise.all([...this.#preparing.keys()].map((containerId) => this.cancel(containerId)));
  }

  /** Throws a container's root away; one that is not there is none. False when there was none. */
  async release(containerId: string): Promise<boolean> {
    await this.cancel(containerId);
    await this.#trash.discard(this.#placeOf(containerId));
    const wasUnreadable = this.#unreadable.delete(containerId);
    return this.#uses.delete(containerId) || wasUnreadable;
  }

  /** The folders that hold what a container has written, that of its root first; none where it has no root of its own. */
  writablesOf(containerId: string): readonly string[] {
    const use = this.#uses.get(containerId);
    if (use === undefined) return [];
    const place = this.#placeOf(containerId);
    const hasVolumes = use.volumes !== undefined;
    return [
      join(place, use.kind === 'overlay' ? 'upper' : 'root'),
      ...(hasVolumes ? [join(place, 'volumes')] : []),
    ];
  }

  async #make(place: string, use: RootUse, signal: AbortSignal): Promise<ContainerRoot> {
    const temporary = await this.#trash.makeFolder();
    try {
      if (use.kind === 'overlay') {
        await makeUpper(this.#rootOf(use.chainId), join(temporary, 'upper'));
        await mkdir(join(temporary, 'work'));
      } else await this.#copyTree(this.#rootOf(use.chainId), join(temporary, 'root'), signal);
      if (use.volumes !== undefined) await this.#makeVolumes(temporary, use, signal);
      // The container's record is on the disk when its creation is confirmed, and must not be without these.
      await factsOf(temporary).write(use);
      signal.throwIfAborted();
      await rename(temporary, place);
    } catch (error) {
      await this.#trash.discard(temporary);
      throw error;
    }
    return this.#describe(place, use);
  }

  /** With the image's files, owners and modes; an empty folder where it has nothing. */
  async #makeVolumes(place: string, { chainId, volumes = [] }: RootUse, signal: AbortSignal): Promise<void> {
    await mkdir(join(place, 'volumes'));
    for (const [at, target] of volumes.entries()) {
      const to = join(place, 'volumes', String(at));
      const from = await resolveInRoot(this.#rootOf(chainId), target);
      if (from === undefined) await mkdir(to);
      else if ((await lstat(from)).isDirectory()) await this.#copyTree(from, to, signal);
      else throw refused(`the image wants a volume at "${target}", where it has no folder`);
    }
  }

  #describe(place: string, { kind, chainId, volumes: targets }: RootUse): ContainerRoot {
    const volumes = targets?.map((target, at) => ({ source: join(place, 'volumes', String(at)), target }));
    if (kind === 'folder') return { kind, path: join(place, 'root'), ...(volumes && { volumes }) };
    const lowerDirs = [this.#rootOf(chainId)];
    const dirs = { lowerDirs, upperDir: join(place, 'upper'), workDir: join(place, 'work') };
    return { kind, ...dirs, ...(volumes && { volumes }) };
  }

  #placeOf(containerId: string): string {
    if (!isContainerId(containerId)) throw invalidArgument(`"${containerId}" is no id of a container`);
    return join(this.#folder, containerId);
  }
}

/** It becomes the name of a folder: nothing in it may lead elsewhere. */
function isContainerId(text: string): boolean {
  return /^[\w-]{1,200}$/.test(text);
}

/** The file that says what the root in a folder is. The folder gets its name later. */
function factsOf(folder: string): RecordFile<RootUse> {
  return new RecordFile({ path: join(folder, 'facts.json'), parse, syncsFolder: false });
}

/** Throws when it cannot be what was written, as after a loss of power. */
function parse({ imageId, chainId, kind, volumes }: Readonly<Record<string, unknown>>): RootUse {
  const isKind = kind === 'overlay' || kind === 'folder';
  const areVolumes =
    volumes === undefined ||
    (Array.isArray(volumes) && volumes.every((each): each is string => typeof each === 'string'));
  if (typeof imageId !== 'string' || typeof chainId !== 'string' || !isKind || !areVolumes)
    throw new Error('not the facts of a root');
  return { imageId, chainId, kind, ...(volumes !== undefined && { volumes }) };
}

/** The folder that lies above all others gives the container's `/` its owner and mode. */
async function makeUpper(lower: string, upper: string): Promise<void> {
  const { uid, gid, mode } = await stat(lower);
  await mkdir(upper);
  await chown(upper, uid, gid);
  await chmod(upper, mode & 0o7777);
}

/** Owners, times, links, devices and attributes as they are; blocks are shared where the file system can. */
function copyWithCp(from: string, to: string, signal: AbortSignal): Promise<void> {
  return runTool('cp', ['-a', '--reflink=auto', '-T', '--', from, to], signal);
}
