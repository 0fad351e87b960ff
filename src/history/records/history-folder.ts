import { join } from 'node:path';

/** The folder of an agent's history, inside its root folder. */
export function historyFolder(rootDir: string): string {
  return join(rootDir, 'journal');
}
