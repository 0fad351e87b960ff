import { readlink, symlink } from 'node:fs/promises';
import { systemCodeOf } from '#base/errors/system-code.js';
import { readIfThere } from '#base/fs/whole-file.js';
import { parseProcessStat, type ProcessIdentity } from './child-identity.js';

/** Which process has claimed something, and in which boot: in another one its identity means nothing. */
export interface ProcessClaim {
  readonly bootId: string;
  readonly identity: ProcessIdentity;
}

/** Where the link leads that stands in place of a claim; there is nothing. It takes no room on the disk. */
const VOID = 'void';

/**
 * Lines of a shell script that claim something for their own process, or end it with that exit status.
 *
 * The claim is a file with the boot's id and the process's line of /proc/self/stat. Whoever creates it first has the
 * thing: this process, or a runtime that declares it void ({@link voidClaim}). Both stay as they are for good.
 *
 * @param file one word of the script, quoted.
 */
export function renderClaim(file: string, status: number): string {
  return `read -r boot </proc/sys/kernel/random/boot_id
read -r self </proc/self/stat
set -C
printf '%s\\n%s\\n' "$boot" "$self" >${file} || exit ${status}
set +C
`;
}

/** Who has the claim: undefined when nobody has, or has not finished writing; `void` when nobody ever will. */
export async function findClaim(path: string): Promise<ProcessClaim | 'void' | undefined> {
  const text = await readIfThere(path);
  // Earlier runtimes wrote a file.
  if (text === `${VOID}\n`) return 'void';
  if (text === undefined && (await readlink(path).catch(() => undefined)) === VOID) return 'void';
  const [bootId = '', line = '', end] = text?.split('\n') ?? [];
  const stat = end === undefined ? undefined : parseProcessStat(line);
  return stat && { bootId, identity: { pid: stat.pid, startTicks: stat.startTicks } };
}

/** Prevents any later claim, also on a full disk; false when one was made, or was prevented, already. */
export async function voidClaim(path: string): Promise<boolean> {
  try {
    await symlink(VOID, path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
