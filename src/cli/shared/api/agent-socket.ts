import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { BATCHES_FOLDER, SOCKET_NAME, USUAL_ROOT_DIR } from '#node';
import { parseUnixSockets } from '#base/proc/net-tables.js';
import { PodloopError } from '#base/errors/errors.js';
import { mayBeOf, ownRootDir, SHARED_ROOT_DIR } from '../own-root-dir.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What becomes of a search that finds several batches. */
export type WhenSeveral = 'throw' | 'usual';

/** How to find an agent that no flag names. */
export interface AgentPlaces {
  /** The usual root folders, the user's own before root's. */
  readonly rootDirs: readonly string[];
  /** Paths of the sockets at which somebody listens; undefined where the system does not say. */
  readonly listening: ReadonlySet<string> | undefined;
}

/**
 * The socket of the agent that is meant: the one of the flag, of `PODLOOP_SOCKET`, or the first that is there of those
 * in the default root folders, the user's own before root's. Where no agent has a default root folder, it is that of
 * the batch that runs. When several run it throws OPTION_INVALID, or takes the usual one for those that can do without an
 * agent.
 */
export function resolveAgentSocket(
  flag: string | undefined,
  env: Environment,
  uid: number,
  whenSeveral: WhenSeveral = 'throw',
): string {
  const named = flag ?? env['PODLOOP_SOCKET'] ?? '';
  if (named !== '') return toPath(named);
  return findAgentSocket({ rootDirs: defaultRootDirs(env, uid), listening: readListening() }, whenSeveral);
}

/** See {@link resolveAgentSocket}. */
export function findAgentSocket(
  { rootDirs, listening }: AgentPlaces,
  whenSeveral: WhenSeveral = 'throw',
): string {
  const isServed = (path: string): boolean =>
    existsSync(path) && (listening === undefined || listening.has(path) || listening.has(toRealPath(path)));
  const usual = rootDirs.map((rootDir) => join(rootDir, SOCKET_NAME));
  const running = usual.find(isServed);
  if (running !== undefined) return running;
  const batches = rootDirs.flatMap(listBatchSockets).filter(isServed);
  if (batches.length > 1 && whenSeveral === 'throw') {
    throw new PodloopError(
      'OPTION_INVALID',
      `several agents run; name one with --socket: ${batches.join(', ')}`,
    );
  }
  return (
    (batches.length === 1 ? batches[0] : undefined) ?? usual.find((path) => existsSync(path)) ?? usual[0]!
  );
}

/** Where the sockets of agents are that no flag has placed. */
export function listUsualSockets(env: Environment, uid: number): readonly string[] {
  const rootDirs = defaultRootDirs(env, uid);
  return [...rootDirs.map((rootDir) => join(rootDir, SOCKET_NAME)), ...rootDirs.flatMap(listBatchSockets)];
}

function defaultRootDirs(env: Environment, uid: number): readonly string[] {
  const own = ownRootDir(env);
  // Who has made a folder there that is not ours could answer in the name of our agent.
  const isForeign = own === SHARED_ROOT_DIR && !mayBeOf(uid, own);
  return uid === 0 || isForeign ? [USUAL_ROOT_DIR] : [own, USUAL_ROOT_DIR];
}

/** None where the folder cannot be read: it is somebody else's then. */
function listBatchSockets(rootDir: string): string[] {
  const folder = join(rootDir, BATCHES_FOLDER);
  try {
    return readdirSync(folder)
      .sort()
      .map((name) => join(folder, name, SOCKET_NAME));
  } catch {
    return [];
  }
}

/**
 * Paths of the sockets at which somebody listens: an agent that was killed leaves its own behind. Undefined where the
 * system does not say.
 */
export function readListening(): ReadonlySet<string> | undefined {
  try {
    return new Set(parseUnixSockets(readFileSync('/proc/net/unix', 'utf8')).map(({ path }) => path));
  } catch {
    return undefined;
  }
}

function toRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function toPath(named: string): string {
  return named.replace(/^unix:(\/\/)?/, '');
}
