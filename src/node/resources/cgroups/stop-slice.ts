import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;

/**
 * Makes systemd forget a slice, which it created for the first unit in it and keeps until somebody stops it.
 *
 * Rejects with the message of `systemctl`. Call it only for an empty slice, as systemd would end whatever is
 * in it.
 */
export async function stopSlice(slice: string, signal: AbortSignal, program = 'systemctl'): Promise<void> {
  await run(program, ['stop', '--', slice], { timeout: TIMEOUT_MS, signal });
}
