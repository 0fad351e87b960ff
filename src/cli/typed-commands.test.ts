/**
 * Every command of podloop that a page or a help shows can be typed as it stands: the command is there, and so are its flags, and
 * their values are of the right kind. What it then does is held by other tests.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { listFiles, REPOSITORY } from '../../test/source-tree.js';
import { SILENT_HOST } from '#support/fakes/silent-cli-host.js';
import { COMMANDS } from './program.js';
import { toSwitches } from './switch-flags.js';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...listFiles('docs', '.md').map((file) => `docs/${file}`),
  ...listFiles('examples', '.md').map((file) => `examples/${file}`),
].filter((page) => !page.startsWith('docs/results/') && !page.startsWith('docs/reference/api/'));

/** What a shell would run of a line: one command after the other, each as its words. */
function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  const token =
    /\s+#.*$|\s+|\d?(?:>>|>&|<<|>|<)-?\s*[^\s;|&()]*|\|\||&&|[|;&()]|((?:\\.|"(?:\\.|[^"])*"|'[^']*'|[^\s|;&()<>"'\\])+)/g;
  for (const [text, word] of line.matchAll(token)) {
    if (word !== undefined) commands.at(-1)!.push(word.replaceAll(/["']/g, '').replace('$$', '4711'));
    else if (/^(?:\|\||&&|[|;&()])$/.test(text)) commands.push([]);
  }
  return commands;
}

/** What stands behind `podloop` in the lines of a shell. */
function typedIn(lines: string): string[][] {
  return lines
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => commandsOf(line))
    .flatMap((words) => {
      const at = words.findIndex((word) => word === 'podloop' || word.endsWith('dist/program/podloop.js'));
      const before = words.slice(0, at);
      // In front of it stands what runs it, and nothing that takes it as a name.
      if (at < 0 || !before.every((word) => /^(?:sudo|-\w|node|exec|time|nohup|\w+=.*)$/.test(word)))
        return [];
      return [words.slice(at + 1)];
    });
}

/** The lines of a page that are to be typed: shell, and what stands behind `$` on a console. */
function shellOn(page: string): string {
  const text = readFileSync(path.join(REPOSITORY, page), 'utf8');
  return [...text.matchAll(/^```(sh|bash|console)\n([\s\S]*?)^```$/gm)]
    .map(([, kind, block]) =>
      kind === 'console'
        ? [...block!.matchAll(/^[$#] ((?:.*\\\n)*.*)$/gm)].map(([, line]) => line).join('\n')
        : block,
    )
    .join('\n');
}

/** Why a command is not accepted; undefined if it is. */
async function refusalOf(words: readonly string[]): Promise<string | undefined> {
  const program = new Command('podloop').version('1', '-V, --version').exitOverride();
  program.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  const called = COMMANDS.find(({ name }) => name === words.find((word) => !word.startsWith('-')));
  if (called !== undefined) {
    const command = (await called.load(SILENT_HOST)).copyInheritedSettings(program);
    for (const each of [command, ...command.commands]) {
      each.copyInheritedSettings(program);
      if (each.commands.length === 0) each.action(() => undefined);
    }
    program.addCommand(command);
  }
  try {
    await program.parseAsync(toSwitches(words, program.commands), { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    return `podloop ${words.join(' ')}: ${(error as Error).message}`;
  }
}

async function refusalsOf(commands: readonly (readonly string[])[]): Promise<string[]> {
  const refusals = await Promise.all(commands.map((words) => refusalOf(words)));
  return refusals.filter((refusal) => refusal !== undefined);
}

describe('what is typed', { timeout: 240_000 }, () => {
  it('is read as a shell would', () => {
    expect(typedIn('sudo podloop run ./pods \\\n  -v 1 | tee log # not this: podloop ps')).toEqual([
      ['run', './pods', '-v', '1'],
    ]);
    expect(typedIn("A=b podloop exec web -- sh -c 'a; b' && podloop ps > file; which podloop")).toEqual([
      ['exec', 'web', '--', 'sh', '-c', 'a; b'],
      ['ps'],
    ]);
  });

  it('refuses what is not there', async () => {
    expect(await refusalsOf([['ps'], ['pss'], ['ps', '--al'], ['run', '--max-pods', 'many']])).toHaveLength(
      3,
    );
  });

  it.each(
    pages.map((page) => [page, typedIn(shellOn(page))] as const).filter(([, { length }]) => length > 0),
  )('on %s can be typed', async (_, commands) => {
    expect(await refusalsOf(commands)).toEqual([]);
  });

  it.each(COMMANDS.map((command) => [command.name, command] as const))(
    'in the help of podloop %s can be typed',
    async (_, { load }) => {
      const command = await load(SILENT_HOST);
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) });
      command.outputHelp();
      const [, examples = ''] = help.split(/^Examples:$/m);
      expect(await refusalsOf(typedIn(examples.replaceAll(/^ +/gm, '')))).toEqual([]);
    },
  );
});
