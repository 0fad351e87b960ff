import { type ContainerConfig } from './runtime-changes.js';

/** 32 pages of 4 KiB, with the byte that ends it; machines with larger pages take more. */
const MOST_BYTES_OF_ONE = 131_072;

/**
 * Says what is too big when a program could not be started with its variables and arguments (E2BIG), and leaves other
 * messages as they are. Names a variable, never its value. Pure.
 *
 * Source: execve(2), "Limits on size of arguments and environment"
 */
export function explainTooLong(
  message: string,
  { envs, command, args }: Pick<ContainerConfig, 'envs' | 'command' | 'args'>,
): string {
  if (!/argument list too long|E2BIG/i.test(message)) return message;
  const parts = [
    ...envs.map(({ key, value }) => ({
      what: `variable ${key}`,
      bytes: key.length + value.length + 2,
    })),
    ...[...command, ...args].map((text, index) => ({
      what: `argument ${index}`,
      bytes: Buffer.byteLength(text) + 1,
    })),
  ];
  const [largest = { what: '', bytes: 0 }] = parts.toSorted((one, other) => other.bytes - one.bytes);
  const together = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const cause =
    largest.bytes > MOST_BYTES_OF_ONE
      ? `${largest.what} has ${largest.bytes} bytes, and Linux takes ${MOST_BYTES_OF_ONE} for one`
      : `variables and arguments have ${together} bytes together, the largest is ${largest.what} with ${largest.bytes}`;
  return `${message}: ${cause}; mount large values as files`;
}
