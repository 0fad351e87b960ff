import { findInstead, findInsteadOfFlag } from './foreign-words.js';

/**
 * Rewords commander's complaints in the way of kubectl: `error: unknown flag: --x`, a suggestion, where to look.
 *
 * `path` is the command that was called, `podloop watch`. What has no form of its own stays as it is.
 */
export function toUsageError(complaint: string, path: string): string {
  const [first = '', ...rest] = complaint.trim().split('\n');
  const guess = /Did you mean (?:one of )?(.*?)\?/.exec(rest.join(' '))?.[1];
  const look = `See '${path} --help' for usage.`;

  const command = /^error: unknown command '(.*)'$/.exec(first)?.[1];
  if (command !== undefined) {
    const lines = [`error: unknown command "${command}" for "${path}"`];
    const instead = path === 'podloop' ? findInstead(command) : undefined;
    if (instead !== undefined) lines.push('', `Instead: ${instead}`);
    else if (guess !== undefined)
      lines.push('', 'Did you mean this?', ...guess.split(', ').map((one) => `\t${one}`));
    return [...lines, '', look].join('\n');
  }
  const flag = /^error: unknown option '(.*)'$/.exec(first)?.[1]?.replace(/=.*/s, '');
  const name = path.replace(/^podloop /, '');
  const instead = flag === undefined ? undefined : findInsteadOfFlag(name, flag);
  return [
    reword(first),
    ...(instead === undefined ? [] : [`Instead: ${instead}`]),
    ...(guess === undefined ? [] : [`Did you mean ${guess.replaceAll(', ', ' or ')}?`]),
    look,
  ].join('\n');
}

function reword(complaint: string): string {
  const rules: [RegExp, (...groups: string[]) => string][] = [
    [/^error: unknown option '(.*)'$/, (flag) => `error: unknown flag: ${flag}`],
    [/^error: option '(.*)' argument missing$/, (flag) => `error: flag needs an argument: ${nameOf(flag)}`],
    [
      /^error: option '(.*?)' argument '(.*?)' is invalid\. ?(.*)$/,
      (flag, value, why) => `error: invalid argument "${value}" for "${nameOf(flag)}" flag: ${why}`,
    ],
    [/^error: too many arguments.*$/, () => complaint.replace(/\.$/, '')],
  ];
  for (const [pattern, rewrite] of rules) {
    const match = pattern.exec(complaint);
    if (match !== null) return rewrite(...match.slice(1));
  }
  return complaint;
}

/** `-o, --output <format>` is `--output`. */
function nameOf(flags: string): string {
  return /--[a-z-]+/.exec(flags)?.[0] ?? flags;
}
