import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { readLayout, type ImageLayout } from './archive/image-layout.js';
import { folderFiles, tarFiles, type LayoutFiles } from './archive/layout-files.js';
import { ignoreAbsence } from './root-paths.js';

/** What one scan of the image folders found. */
export interface ImageFolders {
  readonly layouts: readonly ImageLayout[];
  /** A sentence for each folder, for people: where was searched, and what could not be read. */
  readonly searched: readonly string[];
}

interface KnownLayout {
  /** Changes when the file does. */
  readonly stamp: string;
  readonly layout: ImageLayout | undefined;
}

/**
 * Finds the image layouts in the image folders: a folder that is a layout itself, and below it every folder and
 * every `.tar` that is one. Earlier folders come first, and in a folder the names decide.
 *
 * Each call scans again; what has not changed since is not read again.
 */
export class ImageFinder {
  readonly #imageDirs: readonly string[];
  readonly #logger: Logger;
  #known = new Map<string, KnownLayout>();

  constructor({ imageDirs, logger }: { imageDirs: readonly string[]; logger: Logger }) {
    this.#imageDirs = imageDirs;
    this.#logger = logger;
  }

  /**
   * Looks. A layout that cannot be read hides no other: it is named in `searched`. Rejects with the signal's reason when
   * that aborts; what was read by then stays.
   */
  async find(signal: AbortSignal): Promise<ImageFolders> {
    const layouts: ImageLayout[] = [];
    const searched: string[] = [];
    const seen = new Map<string, KnownLayout>();
    for (const folder of this.#imageDirs) {
      const faults: string[] = [];
      const before = layouts.length;
      for (const path of await listCandidates(folder, faults)) {
        try {
          const known = await this.#read(path, signal);
          if (known === undefined) continue;
          this.#known.set(path, known);
          seen.set(path, known);
          if (known.layout !== undefined) layouts.push(known.layout);
        } catch (error) {
          signal.throwIfAborted();
          faults.push(`${basename(path)}: ${messageOf(error)}`);
          this.#logger.warn('An image layout cannot be read', { path, err: messageOf(error) });
        }
      }
      const count = layouts.length - before;
      searched.push([`${folder} (${count} ${count === 1 ? 'layout' : 'layouts'})`, ...faults].join('; '));
    }
    this.#known = seen;
    return { layouts, searched };
  }

  async #read(path: string, signal: AbortSignal): Promise<KnownLayout | undefined> {
    signal.throwIfAborted();
    const facts = await stat(path, { bigint: true }).catch(ignoreAbsence);
    if (facts === undefined || (!facts.isDirectory() && !path.endsWith('.tar'))) return undefined;
    const index = facts.isDirectory()
      ? await stat(join(path, 'index.json'), { bigint: true }).catch(ignoreAbsence)
      : facts;
    if (index === undefined) return undefined;
    const stamp = [index.dev, index.ino, index.size, index.mtimeNs, index.ctimeNs].join();
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known;
    const files: LayoutFiles = facts.isDirectory() ? folderFiles(path) : await tarFiles(path, signal);
    return { stamp, layout: await readLayout(files, signal) };
  }
}

/** The folder itself, then what is in it. */
async function listCandidates(folder: string, faults: string[]): Promise<string[]> {
  try {
    const names = (await readdir(folder)).sort();
    for (const name of names)
      if (/\.(tar\.(gz|zst|xz|bz2)|tgz)$/.test(name))
        faults.push(`${name} is compressed: unpack it to a .tar`);
    return [folder, ...names.map((name) => join(folder, name))];
  } catch (error) {
    faults.push(`it cannot be read: ${systemCodeOf(error) || messageOf(error)}`);
    return [];
  }
}
