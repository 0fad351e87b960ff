import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { OBSERVER_OPTIONS } from '../node/options/options.js';
import { SILENT_HOST } from '#support/fakes/silent-cli-host.js';
import { COMMANDS } from './program.js';

const page = await readFile(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');
/** The text below `## heading`, up to the next heading of that level. */
function section(heading: string): string {
  const [, ...sections] = page.split(/^## /m);
  return sections.find((text) => text.startsWith(`${heading}\n`)) ?? '';
}

/** The first cells of the rows of all tables. */
function firstCells(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|')[1]!);
}

const longFlags = (text: string): string[] => text.match(/--[a-z][a-z\d-]+/g) ?? [];

describe('the reference page of the command line', () => {
  it('has a section for every command and no other', () => {
    const sections = [...page.matchAll(/^## podloop (.*)$/gm)].map((match) => match[1]);
    expect(sections).toEqual(COMMANDS.map(({ name }) => name));
  });

  it.each(COMMANDS.map((command) => [command.name, command] as const))(
    'has every option of podloop %s and no other',
    // The first ones load most of the program.
    { timeout: 240_000 },
    async (name, command) => {
      const { options } = await command.load(SILENT_HOST);
      const documented = firstCells(section(`podloop ${name}`)).flatMap(longFlags);
      expect(documented.sort()).toEqual(options.map((option) => option.long).sort());
    },
  );

  it('has every option of the observer with its default, and no other', () => {
    const rows = section('The same as a library').match(/^\| `.*$/gm) ?? [];
    const documented = rows.map((row) =>
      row
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.replaceAll('`', '').trim()),
    );
    const expected = Object.entries(OBSERVER_OPTIONS).map(([name, facts]) => [
      name,
      facts.default === '' ? 'empty' : String(facts.default),
    ]);
    expect(documented).toEqual(expected);
  });
});
