import { type Command } from 'commander';

/**
 * The arguments with `--flag=true` and `--flag=false` of switches in the form that commander knows, `--flag`, `--no-flag`
 * or nothing at all; and `--flag` of those that take a value (`--flag [bool]`) as `--flag=true`, unless one follows, as what
 * follows may be a folder. Nothing behind `--` is touched.
 */
export function toSwitches(args: readonly string[], commands: readonly Command[]): string[] {
  const called = commands.find((command) => command.name() === args.find((arg) => !arg.startsWith('-')));
  const options = called?.options ?? [];
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const before = args.slice(0, end).flatMap((arg, index) => {
    if (options.some(({ long, flags }) => long === arg && flags.endsWith(' [bool]'))) {
      return ['true', 'false'].includes(args[index + 1] ?? '') ? [arg] : [`${arg}=true`];
    }
    const [, flag, value] = /^(--?[a-zA-Z][a-z-]*)=(true|false)$/.exec(arg) ?? [];
    const option = options.find(({ long, short }) => flag !== undefined && (long === flag || short === flag));
    if (option === undefined || !option.isBoolean()) return [arg];
    if (value === 'true') return [option.long ?? arg];
    const negation = `--no-${option.name()}`;
    return options.some(({ long }) => long === negation) ? [negation] : [];
  });
  return [...before, ...args.slice(end)];
}
