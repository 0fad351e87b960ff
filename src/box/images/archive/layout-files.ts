import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { refused } from '../../rpc-error.js';
import { FileSource } from '#base/wire/tar/byte-source.js';
import { openFile, type FileRegion } from './file-region.js';
import { ignoreAbsence } from '../root-paths.js';
import { readTar } from '#base/wire/tar/tar-reader.js';

/** The files of an image layout, wherever they lie. */
export interface LayoutFiles {
  /** The folder or the archive. */
  readonly path: string;
  readonly kind: 'folder' | 'tar';
  /** By name, relative to the layout. */
  find(name: string): Promise<FileRegion | undefined>;
}

/** More members than any image has blobs. */
const MAX_MEMBERS = 100_000;
const MAX_LINKS = 10;

/** A layout that is a folder. Names must be safe: they are not checked. */
export function folderFiles(path: string): LayoutFiles {
  return {
    path,
    kind: 'folder',
    find: async (name) => {
      const file = join(path, name);
      const facts = await stat(file).catch(ignoreAbsence);
      return facts?.isFile() === true ? { path: file, start: 0, size: facts.size } : undefined;
    },
  };
}

/**
 * A layout that is an uncompressed tar: its headers are read once, its contents stay where they are. Rejects with the
 * signal's reason when that aborts.
 */
export async function tarFiles(path: string, signal: AbortSignal): Promise<LayoutFiles> {
  await using file = await openFile(path);
  const { size } = await file.stat();
  const regions = new Map<string, FileRegion>();
  const links = new Map<string, string>();
  for await (const { name, kind, linkName, stored } of readTar(new FileSource(file, 0, size))) {
    signal.throwIfAborted();
    if (regions.size + links.size >= MAX_MEMBERS) throw refused(`${path} has too many members for a layout`);
    const key = posix.normalize(name);
    if (kind === 'file') regions.set(key, { path, start: stored.offset, size: stored.size });
    // Docker saved a layer that two images share once, with a link from the other.
    else if (kind === 'symlink') links.set(key, posix.join(posix.dirname(key), linkName));
    else if (kind === 'link') links.set(key, posix.normalize(linkName));
  }
  const find = (name: string): FileRegion | undefined => {
    let key = posix.normalize(name);
    for (let steps = 0; steps < MAX_LINKS && links.has(key); steps++) key = links.get(key)!;
    return regions.get(key);
  };
  return { path, kind: 'tar', find: (name) => Promise.resolve(find(name)) };
}
