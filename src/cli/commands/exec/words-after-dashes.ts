import { type Command } from 'commander';

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
