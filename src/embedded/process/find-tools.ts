import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PodloopError } from '../../util/errors.js';
import { type CommandTools } from '../container/supervisor-script.js';
import { findProgram } from './find-program.js';

/** Where the few programs are that a supervisor needs; the runtime's own PATH has no say in it. */
export const TOOL_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin';

/** Finds what supervisors need; throws PLATFORM_UNSUPPORTED naming what is missing. */
export async function findTools(): Promise<CommandTools> {
  for (const name of ['cat', 'dd', 'sleep', 'wc']) await findTool(name);
  const env = await findTool('env');
  await checkEnv(env);
  return { env, setsid: await findTool('setsid'), mkfifo: await findTool('mkfifo') };
}

/** What it takes is a moment; a file system that hangs must not hang the start. */
const CHECK_MS = 30_000;

/** See carryEnvironment. */
async function checkEnv(env: string): Promise<void> {
  try {
    const options = { env: { P: '', PATH: TOOL_PATH }, timeout: CHECK_MS };
    await promisify(execFile)(env, ['-i', '-S-- a=${P}', 'true'], options);
  } catch (error) {
    throw new PodloopError(
      'PLATFORM_UNSUPPORTED',
      `the embedded runtime needs "env" of coreutils 8.30 or later, and ${env} does not know --split-string`,
      { cause: error },
    );
  }
}

/** The absolute path of a program; throws PLATFORM_UNSUPPORTED when it is not there. */
export async function findTool(name: string): Promise<string> {
  const path = await findProgram(name, TOOL_PATH);
  if (path !== undefined) return path;
  throw new PodloopError(
    'PLATFORM_UNSUPPORTED',
    `the embedded runtime needs the program "${name}" in ${TOOL_PATH}`,
  );
}
