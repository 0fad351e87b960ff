import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;

/**
 * Lets systemd forget a slice: it made it for the first unit in it and keeps it until somebody stops it. Rejects with
 * what `systemctl` says. It would end whatever is in the slice: ask only for one that is empty.
 */
export async function stopSlice(slice: string, signal: AbortSignal, program = 'systemctl'): Promise<void> {
  await run(program, ['stop', '--', slice], { timeout: TIMEOUT_MS, signal });
}
