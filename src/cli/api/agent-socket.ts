import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** The name of the socket in an agent's root folder. */
const SOCKET_NAME = 'podloop.sock';
const ROOT_FOLDER = '/var/lib/podloop';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The socket of the agent that is meant: the one of the flag, of `PODLOOP_SOCKET`, or the first that is there of those
 * in the default root folders, the user's own before root's.
 */
export function resolveAgentSocket(flag: string | undefined, env: Environment, uid: number): string {
  const named = flag ?? env['PODLOOP_SOCKET'] ?? '';
  if (named !== '') return toPath(named);
  const paths = defaultSocketPaths(env, uid);
  return paths.find((path) => existsSync(path)) ?? paths[0]!;
}

function defaultSocketPaths(env: Environment, uid: number): readonly string[] {
  const shared = join(ROOT_FOLDER, SOCKET_NAME);
  if (uid === 0) return [shared];
  const home = env['HOME'] ?? '';
  const state = env['XDG_STATE_HOME'] ?? (isAbsolute(home) ? join(home, '.local/state') : '/tmp');
  return [join(state, 'podloop', SOCKET_NAME), shared];
}

function toPath(named: string): string {
  return named.replace(/^unix:(\/\/)?/, '');
}
