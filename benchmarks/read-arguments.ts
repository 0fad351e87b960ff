import { parseArgs } from 'node:util';

/** What the command line says. */
export interface BenchArguments {
  /** The values of settings, and `true` for each switch that is on. */
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  /** The names of scenarios. */
  readonly positionals: readonly string[];
}

/** What may be told. */
export interface KnownArguments {
  /** Each takes a value. */
  readonly settings: readonly string[];
  readonly switches: readonly string[];
}

/** Reads a command line. Throws an Error whose message is for people. */
export function readArguments(
  args: readonly string[],
  { settings, switches }: KnownArguments,
): BenchArguments {
  try {
    return parseArgs({
      args: joinNegatives(args, settings),
      allowPositionals: true,
      options: {
        ...Object.fromEntries(settings.map((name) => [name, { type: 'string' as const }])),
        ...Object.fromEntries(switches.map((name) => [name, { type: 'boolean' as const }])),
      },
    });
  } catch (error) {
    throw toPlainError(error, { settings, switches });
  }
}

/** `--containers -1` is a value, if a wrong one: else it would be taken for the option `-1`, and that be complained of. */
function joinNegatives(args: readonly string[], settings: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1);
    if (last !== undefined && /^-[\d.]/.test(arg) && settings.some((name) => last === `--${name}`))
      joined[joined.length - 1] = `${last}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

/** Node's own words tell of its parser, not of what would be right here. */
function toPlainError(error: unknown, { settings, switches }: KnownArguments): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const option = /'(-[^' =]*)/.exec(error.message)?.[1] ?? '';
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return new Error(`there is no option ${option}; see --help`);
  if (error.code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') return error;
  const name = option.replace(/^--/, '');
  if (switches.includes(name)) return new Error(`${option} takes no value`);
  return settings.includes(name) ? new Error(`${option} takes a value; see --help`) : error;
}
