/** File name extensions of manifests in a folder. A file that is named directly may have any. */
export const MANIFEST_ENDINGS = ['.yaml', '.yml', '.json', '.manifest'] as const;

/**
 * Classifies a name in a folder.
 *
 * A `manifest` is read. A `hidden` file, and what editors and package managers leave beside a file, are
 * ignored silently. Any `other` file is reported as not read.
 */
export function manifestNameKind(name: string): 'manifest' | 'hidden' | 'other' {
  if (name.startsWith('.') || LEFT_BESIDE.test(name)) return 'hidden';
  return MANIFEST_ENDINGS.some((ending) => name.endsWith(ending)) ? 'manifest' : 'other';
}

/** Backups and partial files of editors (Emacs, vi, nano), of patch, of package managers, of downloads. */
const LEFT_BESIDE =
  /^#.*#$|~$|^4913$|\.(?:bak|orig|rej|save|swp|swo|swx|swn|old|tmp|temp|part|crdownload|rpmsave|rpmnew|rpmorig|dpkg-\w+)$/i;
