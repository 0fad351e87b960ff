import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TOOL_PATH } from '../process/find-tools.js';

/** A copy of a large image to a slow disk takes minutes; what takes longer than this hangs. */
const DEADLINE_MS = 30 * 60_000;

/**
 * Runs a program of coreutils or util-linux to its end. Rejects with what it said when it fails, with the signal's
 * reason when that aborts, and when it has not ended after half an hour; it was killed then.
 */
export async function runTool(file: string, args: readonly string[], signal?: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)(file, args, {
      env: { PATH: TOOL_PATH, LC_ALL: 'C' },
      maxBuffer: 1024 * 1024,
      timeout: DEADLINE_MS,
      killSignal: 'SIGKILL',
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    signal?.throwIfAborted();
    const said = ((error as { stderr?: string }).stderr ?? '').trim().split('\n').at(-1) ?? '';
    throw new Error(`${file} failed: ${said === '' ? (error as Error).message : said}`, { cause: error });
  }
}
