import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type CliHost } from './cli-host.js';
import { quoteWord } from './shared/print/quote-word.js';
import { escapeTerminal } from './shared/print/terminal-text.js';

/** Where sudo searches for programs, whatever the user's PATH says: `secure_path` of most distributions. */
const SECURE_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Variables that choose what a command asks; sudo passes none on. */
const CARRIED = ['PODLOOP_SOCKET', 'CONTAINER_RUNTIME_ENDPOINT', 'KUBECONFIG'];

/** What {@link toRootCommand} needs. */
export interface RootCommandOptions {
  /** Starts this program: its path, or that of Node and of the script. */
  readonly selfCommand: readonly [string, ...string[]];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: what is on this machine. */
  readonly places?: {
    readonly exists: (path: string) => boolean;
    readonly realPath: (path: string) => string;
  };
}

/**
 * The line by which a person runs a command as root. It has `podloop` alone where sudo finds that, and paths in full elsewhere: a Node
 * by nvm, fnm or the like is in a folder of its user, where sudo does not search.
 */
export function toRootCommand({
  selfCommand,
  args,
  env,
  places = { exists: existsSync, realPath: realpathSync },
}: RootCommandOptions): string {
  const isFound = SECURE_PATH.some((folder) => runsFrom(join(folder, 'podloop'), places));
  const carried = CARRIED.flatMap((name) => (env[name] === undefined ? [] : [`${name}=${env[name]}`]));
  const words = [...(isFound ? ['podloop'] : selfCommand), ...args];
  return ['sudo', ...(carried.length > 0 ? ['env', ...carried] : []), ...words].map(quoteWord).join(' ');
}

/** Whether a program is there and runs. npm's is a link to a script, for which a `node` has to be found in the same way. */
function runsFrom(program: string, { exists, realPath }: NonNullable<RootCommandOptions['places']>): boolean {
  if (!exists(program)) return false;
  return !realPath(program).endsWith('.js') || SECURE_PATH.some((folder) => exists(join(folder, 'node')));
}

/** Says how the command that runs is run as root; nothing for root. */
export async function printAsRoot({ asRoot, stderr }: Pick<CliHost, 'asRoot' | 'stderr'>): Promise<void> {
  if (asRoot !== undefined) await stderr.writeLine(escapeTerminal(`To run it as root: ${asRoot}`));
}
