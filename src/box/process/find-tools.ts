import { execFile, type ExecFileException } from 'node:child_process';
import { promisify } from 'node:util';
import { PodloopError } from '#base/errors/errors.js';
import { type CommandTools } from '../container/supervisor-script.js';
import { findProgram } from '#base/proc/find-program.js';

/** Where the few programs are that a supervisor needs; the runtime's own PATH has no say in it. */
export const TOOL_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin';

/** Finds what supervisors need; throws PLATFORM_UNSUPPORTED naming what is missing. */
export async function findTools(): Promise<CommandTools> {
  for (const name of ['cat', 'dd', 'sleep', 'wc']) await findTool(name);
  const env = await findTool('env');
  await checkEnv(env);
  return { env, setsid: await findTool('setsid'), mkfifo: await findTool('mkfifo') };
}

/** The check takes a moment; a file system that hangs must not hang the start. */
const CHECK_MS = 30_000;
const NEEDS_ENV = 'the embedded runtime needs "env" of coreutils 8.30 or later';

/** Throws PLATFORM_UNSUPPORTED unless a program `env` knows --split-string; see carryEnvironment. */
export async function checkEnv(env: string, deadlineMs = CHECK_MS): Promise<void> {
  const options = {
    ...{ env: { P: '', PATH: TOOL_PATH, LC_ALL: 'C' }, timeout: deadlineMs },
    killSignal: 'SIGKILL' as const,
  };
  try {
    await promisify(execFile)(env, ['-i', '-S-- a=${P}', 'true'], options);
  } catch (error) {
    const why = whyNoEnv(error as ExecFileException, env, deadlineMs);
    throw new PodloopError('PLATFORM_UNSUPPORTED', `${NEEDS_ENV}, and ${why}`, { cause: error });
  }
}

/** coreutils exit with 125 and busybox with 1 for an option that they do not know. */
const UNKNOWN_OPTION: readonly unknown[] = [1, 125];

function whyNoEnv(error: ExecFileException, env: string, deadlineMs: number): string {
  const { code, killed, signal, stderr = '', message } = error;
  if (killed === true) return `${env} did not end within ${deadlineMs} ms`;
  if (typeof signal === 'string') return `${env} was ended by ${signal}`;
  const words = stderr.trim().split('\n', 1)[0]?.slice(0, 500) ?? '';
  if (UNKNOWN_OPTION.includes(code)) return `${env} does not know --split-string: ${words}`;
  return typeof code === 'number' ? `${env} exited with ${code}: ${words}` : message;
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
