import { join } from 'node:path';

/** The folder for certificates that the agent created or received. */
export function certFolderOf({
  certDir,
  rootDir,
}: {
  readonly certDir: string;
  readonly rootDir: string;
}): string {
  return certDir === '' ? join(rootDir, 'pki') : certDir;
}
