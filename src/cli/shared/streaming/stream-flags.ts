import { type Command, Option } from 'commander';
import { type PodObject } from '#kube/columns/kube-object.js';
import { addSessionFlags, type SessionFlags, stripEquals } from '../agent-session.js';
import { failure } from '../../command-failure.js';

/** The flags of `exec` and `attach`. */
export interface StreamFlags extends SessionFlags {
  readonly container?: string;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly quiet: boolean;
}

/** What the flags mean to the one command or the other. */
export interface StreamFlagWords {
  readonly stdin: string;
  readonly tty: string;
  readonly quiet: string;
}

/** Adds the flags of a command that talks with what runs in a container. */
export function addStreamFlags(command: Command, words: StreamFlagWords): Command {
  return addSessionFlags(command)
    .addOption(new Option('-c, --container <name>', 'Name of the container').argParser(stripEquals))
    .option('-i, --stdin', words.stdin, false)
    .option('-t, --tty', words.tty, false)
    .option('-q, --quiet', words.quiet, false);
}

/** Throws a CommandFailure when all of a pod has ended. `deed`: `exec into`. */
export function assertUnended(pod: PodObject, deed: string): void {
  const { phase = '' } = pod.status ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') {
    throw failure(`cannot ${deed} a container in a completed pod; current phase is ${phase}`);
  }
}

/** The words in front of `--` and those behind it; undefined when there is no `--`. */
export interface SplitWords {
  readonly before: readonly string[];
  readonly after: readonly string[] | undefined;
}

/** Splits the operands of a command at `--`, which commander does not report. */
export function splitAtDashes(words: readonly string[], command: Command): SplitWords {
  // Commander has them, but its types do not say so.
  const raw: unknown = command.parent === null ? undefined : Reflect.get(command.parent, 'rawArgs');
  const args: readonly unknown[] = Array.isArray(raw) ? raw : [];
  const dashes = args.indexOf('--');
  if (dashes < 0) return { before: words, after: undefined };
  const count = args.length - dashes - 1;
  const at = words.length - count;
  return { before: words.slice(0, at), after: words.slice(at) };
}
