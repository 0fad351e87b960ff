import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Of util-linux. */
export type MountTool = 'mount' | 'umount';

/** A mount is quick; what takes longer than this waits for a device or a peer that does not answer. */
export const MOUNT_LIMIT_MS = 60_000;
/** All that the tools are told of the agent's surroundings. */
export const MOUNT_ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/**
 * Runs mount(8) or umount(8) to its end. Rejects with what it says, or when it has not ended after a minute; it was
 * killed then.
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
  // A tool that is not there has nothing to say.
  const said = child.stderr === null ? Promise.resolve('') : text(child.stderr).catch(() => '');
  const [{ code, signal }, words] = await Promise.all([ended, said]);
  if (code === null) throw toMountFailure(tool, `it was ended by ${signal}`, words);
  if (code !== 0) throw new MountToolFailure(tool, `it ended with ${code}`, words);
}

/** What the tool itself says, having ended by itself: not that it was killed, or could not be run. */
export class MountToolFailure extends Error {
  constructor(tool: MountTool, problem: string, words: string) {
    super(toMountFailure(tool, problem, words).message);
  }
}

/** In the tool's last words, or as told where it had none. */
export function toMountFailure(tool: MountTool, problem: string, words: string): Error {
  const last = words.trim().split('\n').at(-1) ?? '';
  return new Error(`${tool} failed: ${last === '' ? problem : last}`);
}
