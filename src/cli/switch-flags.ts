import { type Command } from 'commander';

/**
 * Rewrites `--flag=true` and `--flag=false` of switches to the forms that commander knows.
 *
 * Those are `--flag`, `--no-flag` or nothing. A bare `--flag` that takes a value (`--flag [bool]`) becomes
 * `--flag=true`, unless `true` or `false` follows: the next word may be a folder. Words after `--` stay as they are.
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
