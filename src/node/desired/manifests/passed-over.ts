import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST_ENDINGS, manifestNameKind } from './manifest-names.js';

/** A file or folder that no agent reads. */
export interface PassedOver {
  readonly file: string;
  /** Why, behind "as it" and the like. */
  readonly reason: string;
}

const COPY = /\.(?:bak|old|orig|save)$/i;
const ENDINGS = `${MANIFEST_ENDINGS.slice(0, -1).join(', ')} or ${MANIFEST_ENDINGS.at(-1)!}`;

/**
 * What an agent ignores in a folder, by name, where whoever checks the folder may think that it counts: not what
 * editors and package managers leave, nor hidden files that would be no manifests either. Empty for what is no folder.
 * Never rejects.
 */
export async function listPassedOver(folder: string): Promise<PassedOver[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .flatMap((entry) => {
      const reason = reasonOf(entry.name, entry.isDirectory());
      return reason === undefined ? [] : [{ file: join(folder, entry.name), reason }];
    })
    .sort((one, other) => (one.file < other.file ? -1 : 1));
}

function reasonOf(name: string, isFolder: boolean): string | undefined {
  const kind = manifestNameKind(name);
  if (name.startsWith('.')) {
    const isManifest = !isFolder && manifestNameKind(name.replace(/^\.+/, '')) === 'manifest';
    return isManifest ? 'is hidden: its name begins with a dot' : undefined;
  }
  // One with the name of a manifest cannot be read, and that is an error.
  if (isFolder)
    return kind === 'manifest' ? undefined : 'is a folder; only the files of the folder itself are read';
  if (COPY.test(name)) return 'is a copy by its name';
  return kind === 'other' ? `does not end with ${ENDINGS}` : undefined;
}
