import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC as Linux writes it; see proc_pid_fdinfo(5). */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes the file descriptors that this process was started with, besides the first three: whatever it starts would
 * have them too, and a container with a descriptor of a folder of the host gets at all of the host's files.
 *
 * Node opens its own as close-on-exec, which distinguishes them. To be called first of all, by a program
 * that was handed none on purpose.
 *
 * @returns those that were closed.
 */
export function closeInheritedDescriptors(): readonly number[] {
  const inherited = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && isHandedOn(fd));
  for (const fd of inherited) closeSync(fd);
  return inherited;
}

function isHandedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It was that of the list itself.
    return false;
  }
}
