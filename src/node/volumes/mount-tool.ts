import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Of util-linux. */
export type MountTool = 'mount' | 'umount';

/** A mount is quick; beyond this it waits for a device or a peer that does not answer. */
export const MOUNT_LIMIT_MS = 60_000;
/** The whole environment of the tools. */
export const MOUNT_ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/**
 * Runs mount(8) or umount(8) to its end. Rejects with its message, or when it was killed after a minute.
 *
 * @param descriptor becomes the tool's descriptor 3.
 */
export async function runMountTool(
  tool: MountTool,
  args: readonly string[],
  descriptor?: number,
): Promise<void> {
  const child = spawn(tool, args, {
    stdio: ['ignore', 'ignore', 'pipe', ...(descriptor === undefined ? [] : [descriptor])],
    env: MOUNT_ENVIRONMENT,
    timeout: MOUNT_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  // A missing tool has no output.
  const said = child.stderr === null ? Promise.resolve('') : text(child.stderr).catch(() => '');
  const [{ code, signal }, words] = await Promise.all([ended, said]);
  if (code === null) throw toMountFailure(tool, `it was ended by ${signal}`, words);
  if (code !== 0) throw new MountToolFailure(tool, `it ended with ${code}`, words);
}

/** A failure that the tool itself reports: not that it was killed, or could not be run. */
export class MountToolFailure extends Error {
  constructor(tool: MountTool, problem: string, words: string) {
    super(toMountFailure(tool, problem, words).message);
  }
}

/** With the tool's last words, or the given ones if it had none. */
export function toMountFailure(tool: MountTool, problem: string, words: string): Error {
  const last = words.trim().split('\n').at(-1) ?? '';
  return new Error(`${tool} failed: ${last === '' ? problem : last}`);
}
