import { describe, expect, it } from 'vitest';
import { findInstead, foreignWords } from './foreign-words.js';
import { COMMANDS } from './program.js';
import { toUsageError } from './usage-error.js';

describe('complaints about the command line', () => {
  it('name an unknown command and what may have been meant, as kubectl does', () => {
    const complaint = "error: unknown command 'wach'\n(Did you mean watch?)\n";
    expect(toUsageError(complaint, 'podloop')).toBe(
      'error: unknown command "wach" for "podloop"\n\nDid you mean this?\n\twatch\n\nSee \'podloop --help\' for usage.',
    );
  });

  it('name what to type for a command of kubectl or docker, not one that is spelled like it', () => {
    const complaint = "error: unknown command 'ls'\n(Did you mean ps?)\n";
    expect(toUsageError(complaint, 'podloop')).toBe(
      'error: unknown command "ls" for "podloop"\n\nInstead: podloop get pods\n\nSee \'podloop --help\' for usage.',
    );
    expect(toUsageError("error: unknown command 'toString'", 'podloop')).not.toContain('Instead');
  });

  it.each(foreignWords())('name only commands that are there for %s', (word) => {
    const commands = COMMANDS.map(({ name }) => name);
    expect(commands).not.toContain(word);
    const named = [...findInstead(word)!.matchAll(/podloop ([a-z-]+)/g)].map(([, name]) => name);
    expect(named.filter((name) => !commands.includes(name!))).toEqual([]);
  });

  it('name an unknown flag', () => {
    const complaint = "error: unknown option '--mod'\n(Did you mean --mode?)";
    expect(toUsageError(complaint, 'podloop watch')).toBe(
      "error: unknown flag: --mod\nDid you mean --mode?\nSee 'podloop watch --help' for usage.",
    );
  });

  it.each(['-it', '-d', '--rm', '--name=web', '--image'])('say that no image is run, for run %s', (flag) => {
    const complaint = `error: unknown option '${flag}'`;
    const lines = toUsageError(complaint, 'podloop run').split('\n');
    expect(lines).toEqual([
      `error: unknown flag: ${flag}`,
      expect.stringMatching(/^Instead: podloop run FOLDER runs the pods of manifests, and no image/),
      "See 'podloop run --help' for usage.",
    ]);
    expect(toUsageError(complaint, 'podloop up')).not.toContain('Instead');
    expect(toUsageError("error: unknown option '--mod'", 'podloop run')).not.toContain('Instead');
  });

  it.each([
    ['create', '--from-literal=a=b', 'podloop create -f FILE'],
    ['apply', '-k', 'kubectl kustomize DIR | podloop apply -f -'],
    ['get', '-f', 'podloop diff -f FILE'],
    ['validate', '-f', 'podloop validate FILE'],
    ['apply', '--validate=true', 'podloop validate FILE'],
    ['down', '--volumes', 'podloop volumes rm NAME'],
    ['volumes rm', '--root-dir', '--socket FOLDER/podloop.sock'],
  ])('say what to type, for %s %s', (name, flag, words) => {
    expect(toUsageError(`error: unknown option '${flag}'`, `podloop ${name}`)).toContain(words);
    expect(toUsageError("error: unknown option '--from'", 'podloop ps')).not.toContain('Instead');
  });

  it('name flag, value and what would be right', () => {
    const complaint =
      "error: option '-o, --output <format>' argument 'xml' is invalid. Allowed choices are text.";
    expect(toUsageError(complaint, 'podloop watch')).toMatch(
      /^error: invalid argument "xml" for "--output" flag: Allowed choices are text\.\n/,
    );
    expect(toUsageError("error: option '--pod <pod>' argument missing", 'podloop watch')).toMatch(
      /^error: flag needs an argument: --pod\n/,
    );
  });

  it('leave the rest as it is', () => {
    expect(toUsageError('error: something else', 'podloop')).toMatch(/^error: something else\n/);
  });
});
