import { type ContainerConfig } from '../runtime-changes.js';

type Arguments = Pick<ContainerConfig, 'envs' | 'command' | 'args'>;

interface Part {
  /** A name, never a value: that may be secret. */
  readonly what: string;
  /** As the kernel counts: with the name, and the terminating byte. */
  readonly bytes: number;
}

/** MAX_ARG_STRLEN, for one argument, or one variable with its name. */
const MAX_PAGES_OF_ONE = 32;
/** Three quarters of the largest stack; less if the program's own stack is limited. */
const MAX_BYTES = 6 * 1024 * 1024;
const REMEDY = 'mount large values as files';

/**
 * The variable or argument of a container that is too large for Linux to start a program with; undefined if
 * all may fit. Pure.
 *
 * Runtimes notice late: some report a container as started that never ran.
 *
 * Source: execve(2), "Limits on size of arguments and environment"
 */
export function findTooLong(config: Arguments, pageSizeBytes: number): string | undefined {
  const parts = partsOf(config);
  const most = MAX_PAGES_OF_ONE * pageSizeBytes;
  const large = parts.find(({ bytes }) => bytes > most);
  if (large !== undefined) {
    return `${large.what} has ${large.bytes} bytes, and Linux takes ${most} for one; ${REMEDY}`;
  }
  return sumOf(parts) > MAX_BYTES ? `${describeSum(parts)}; Linux takes ${MAX_BYTES}; ${REMEDY}` : undefined;
}

/** Adds what is too large to the message of a failed start (E2BIG); leaves other messages alone. Pure. */
export function explainTooLong(message: string, config: Arguments): string {
  if (!/argument list too long|E2BIG/i.test(message)) return message;
  return `${message}: ${describeSum(partsOf(config))}; ${REMEDY}`;
}

function partsOf({ envs, command, args }: Arguments): Part[] {
  return [
    ...envs.map(({ key, value }) => ({
      what: `variable ${key}`,
      bytes: Buffer.byteLength(key) + value.length + 2,
    })),
    ...[...command, ...args].map((text, index) => ({
      what: `argument ${index}`,
      bytes: Buffer.byteLength(text) + 1,
    })),
  ];
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

function describeSum(parts: readonly Part[]): string {
  const [largest = { what: 'none', bytes: 0 }] = parts.toSorted((one, other) => other.bytes - one.bytes);
  return `variables and arguments have ${sumOf(parts)} bytes together, the largest is ${largest.what} with ${largest.bytes}`;
}
