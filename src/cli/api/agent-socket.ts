import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SOCKET_NAME, USUAL_ROOT_DIR } from '../../agent/usual-places.js';
import { mayBeOf, ownRootDir, SHARED_ROOT_DIR } from '../own-root-dir.js';

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
  const shared = join(USUAL_ROOT_DIR, SOCKET_NAME);
  const own = ownRootDir(env);
  // Who has made a folder there that is not ours could answer in the name of our agent.
  const isForeign = own === SHARED_ROOT_DIR && !mayBeOf(uid, own);
  return uid === 0 || isForeign ? [shared] : [join(own, SOCKET_NAME), shared];
}

function toPath(named: string): string {
  return named.replace(/^unix:(\/\/)?/, '');
}
