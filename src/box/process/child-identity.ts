import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { childrenOf } from './children-of.js';

export {
  findProcess,
  isAlive,
  parseProcessStat,
  type ProcessIdentity,
  type ProcessStat,
} from '#base/proc/process-identity.js';

/** A child of a process by the name of its program; undefined when there is none now. */
export function findChild(parent: number, name: string): number | undefined {
  try {
    return childrenOf(parent).find((pid) => readFileSync(`/proc/${pid}/comm`, 'latin1').trim() === name);
  } catch {
    return undefined;
  }
}

/** The id of this boot: identities of another one mean nothing. */
export async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}
