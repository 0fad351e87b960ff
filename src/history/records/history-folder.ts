import { join } from 'node:path';

/** Where in its root folder an agent keeps its history. */
export function historyFolder(rootDir: string): string {
  return join(rootDir, 'journal');
}
