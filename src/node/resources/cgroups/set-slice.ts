import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;

/**
 * Sets properties of a slice, such as `MemoryMax=1073741824`, until the machine is booted again, whether the slice is there yet or not.
 * Without properties it takes all of them back for a slice that is gone; systemd reads them again when it makes the slice again.
 *
 * Rejects with the message of `systemctl`. Source: systemctl(1), set-property and revert; systemd.resource-control(5).
 */
export async function setSlice(
  slice: string,
  properties: readonly string[],
  signal: AbortSignal,
  program = 'systemctl',
): Promise<void> {
  const words =
    properties.length === 0
      ? ['revert', '--no-reload', '--', slice]
      : ['set-property', '--runtime', '--', slice, ...properties];
  await run(program, words, { timeout: TIMEOUT_MS, signal });
}
