import { findSoftLimit } from '#base/proc/proc-text.js';
import { readFile } from 'node:fs/promises';
import { type ContainerCommand } from './supervisor-script.js';

/** What an argument or a variable may have, its end included: MAX_ARG_STRLEN of Linux; see execve(2). */
const MAX_WORD_BYTES = 128 * 1024;
/** The maximum for all together: a quarter of the stack's limit, but never more than this. */
const MAX_BYTES = 6 * 1024 * 1024;
const DEFAULT_STACK_BYTES = 8 * 1024 * 1024;
/** For the pointer to each word. */
const POINTER_BYTES = 8;
/** What a variable takes besides, on its way to the command, where it has another name; see carryEnvironment. */
const ON_THE_WAY_BYTES = 30;
/** For what leads to the command: programs, capabilities, folders. */
const RESERVED_BYTES = 16 * 1024;

/** What a command has, and what is allowed, in bytes. */
export interface SizeExcess {
  readonly totalBytes: number;
  readonly mostBytes: number;
  readonly longestWordBytes: number;
}

/** Why the kernel would not take a command with its environment; undefined when it will. */
export async function findSizeFault(
  command: Pick<ContainerCommand, 'argv' | 'environment'>,
): Promise<string | undefined> {
  return (await findSizeExcess(command)) === undefined ? undefined : 'argument list too long';
}

/** By how much a command with its environment is more than the kernel takes; undefined when it is not. */
export async function findSizeExcess(
  command: Pick<ContainerCommand, 'argv' | 'environment'>,
): Promise<SizeExcess | undefined> {
  const sizes = [
    ...command.argv.map((word) => Buffer.byteLength(word) + 1),
    ...command.environment.map((entry) => entry.length + 1),
  ];
  const words = sizes.reduce((sum, size) => sum + size + POINTER_BYTES, RESERVED_BYTES);
  const totalBytes = words + command.environment.length * ON_THE_WAY_BYTES;
  const mostBytes = await readLimit();
  const fits = sizes.every((size) => size <= MAX_WORD_BYTES) && totalBytes <= mostBytes;
  return fits ? undefined : { totalBytes, mostBytes, longestWordBytes: MAX_WORD_BYTES - 1 };
}

async function readLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '');
  const stack = findSoftLimit(limits, 'Max stack size') ?? DEFAULT_STACK_BYTES;
  return Math.min(MAX_BYTES, stack / 4);
}
