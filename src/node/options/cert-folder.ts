import { join } from 'node:path';

/** Where an agent keeps certificates that it has made or was given. */
export function certFolderOf({
  certDir,
  rootDir,
}: {
  readonly certDir: string;
  readonly rootDir: string;
}): string {
  return certDir === '' ? join(rootDir, 'pki') : certDir;
}
