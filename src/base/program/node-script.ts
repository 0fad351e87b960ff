import { isSingleExecutable } from './executable-files.js';

/** The first argument that makes the single executable run a script, as Node by itself would. */
const AS_NODE = '--as-node';

/** A script for a process of its own. */
export interface NodeScript {
  /** Its code, or the path of its file. It has CommonJS' `require`, for Node's own modules. */
  readonly script: { readonly code: string } | { readonly file: string };
  /** Behind `process.argv[0]` for code, behind the file's path for a file. */
  readonly args?: readonly string[];
  /** Options of Node that are allowed in NODE_OPTIONS. */
  readonly flags?: readonly string[];
  /** Path of Node (default: the program that runs this). */
  readonly node?: string;
}

/** How a script is started, from an installed program or from the single executable, which takes no options of Node. */
export function toNodeCommand(
  { script, args = [], flags = [], node }: NodeScript,
  isSingle = node === undefined && isSingleExecutable(),
): { readonly argv: readonly [string, ...string[]]; readonly env: Readonly<Record<string, string>> } {
  const program = node ?? process.execPath;
  const what = 'code' in script ? ['-e', script.code, ...args] : [script.file, ...args];
  if (!isSingle) return { argv: [program, ...flags, ...what], env: {} };
  return {
    argv: [program, AS_NODE, ...what],
    env: flags.length === 0 ? {} : { NODE_OPTIONS: flags.join(' ') },
  };
}
