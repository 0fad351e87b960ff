import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TOOL_PATH } from '../find-tools.js';

/** Runs a program of coreutils or util-linux to its end; rejects with what it said when it fails. */
export async function runTool(file: string, args: readonly string[], signal?: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)(file, args, {
      env: { PATH: TOOL_PATH, LC_ALL: 'C' },
      maxBuffer: 1024 * 1024,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    signal?.throwIfAborted();
    const said = ((error as { stderr?: string }).stderr ?? '').trim().split('\n').at(-1) ?? '';
    throw new Error(`${file} failed: ${said === '' ? (error as Error).message : said}`, { cause: error });
  }
}
