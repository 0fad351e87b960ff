import { readFile } from 'node:fs/promises';
import { type ContainerCommand } from './supervisor-script.js';

/** What an argument or a variable may have, its end included: MAX_ARG_STRLEN of Linux; see execve(2). */
const LONGEST_WORD_BYTES = 128 * 1024;
/** The most for all together, whatever the limit of the stack is, of which they get a quarter. */
const MOST_BYTES = 6 * 1024 * 1024;
const DEFAULT_STACK_BYTES = 8 * 1024 * 1024;
/** For the pointer to each word. */
const POINTER_BYTES = 8;
/** For what leads to the command: programs, capabilities, folders. */
const RESERVED_BYTES = 16 * 1024;

/** Why the kernel would not take a command with its environment; undefined when it will. */
export async function findSizeFault(
  command: Pick<ContainerCommand, 'argv' | 'environment'>,
): Promise<string | undefined> {
  const sizes = [
    ...command.argv.map((word) => Buffer.byteLength(word) + 1),
    ...command.environment.map((entry) => entry.length + 1),
  ];
  const total = sizes.reduce((sum, size) => sum + size + POINTER_BYTES, RESERVED_BYTES);
  const fits = Math.max(...sizes) <= LONGEST_WORD_BYTES && total <= (await readLimit());
  return fits ? undefined : 'argument list too long';
}

async function readLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '');
  const soft = /^Max stack size\s+(\d+|unlimited)/m.exec(limits)?.[1];
  const stack = soft === 'unlimited' ? Infinity : Number(soft ?? DEFAULT_STACK_BYTES);
  return Math.min(MOST_BYTES, stack / 4);
}
