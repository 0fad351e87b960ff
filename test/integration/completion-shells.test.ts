/**
 * The completion scripts in the shells that they are for, with a stand-in for podloop. A shell that is not here is skipped.
 *
 * @module
 */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completionScript } from '../../src/cli/commands/completion/completion-script.js';

const run = promisify(execFile);
let folder: string;

/** Says what it is asked, and answers as `podloop __complete` does. */
const STAND_IN = `#!/bin/sh
[ "$1" = __complete ] || exit 9
shift
case "$*" in
*-f*) echo :files ;;
*port*) printf 'port=\\n:nospace\\n' ;;
*) printf '%s\\n' "asked-$#" web-1 web-2 : ;;
esac
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-completion-'));
  await writeFile(join(folder, 'podloop'), STAND_IN);
  await chmod(join(folder, 'podloop'), 0o755);
  await writeFile(join(folder, 'some-manifest.yaml'), '');
});
afterAll(() => rm(folder, { recursive: true }));

function has(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'exit 0'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function inShell(shell: string, args: readonly string[], script: string): Promise<string[]> {
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}`, HOME: folder };
  const { stdout } = await run(shell, [...args, '-c', script], { cwd: folder, env });
  return stdout.split('\n').filter((line) => line !== '');
}

describe.skipIf(!has('fish'))('in fish', () => {
  const ask = (line: string) =>
    inShell('fish', ['--no-config'], `${completionScript('fish')}\ncomplete -C ${JSON.stringify(line)}`);

  it('names are offered, and files where a file is wanted', async () => {
    expect(await ask('podloop logs web')).toEqual(['web-1', 'web-2']);
    expect(await ask('podloop apply -f some')).toEqual(['some-manifest.yaml']);
  });
});

describe.skipIf(!has('zsh'))('in zsh', () => {
  // The line editor is not there: what it would be told is printed.
  const ask = (...words: readonly string[]) =>
    inShell(
      'zsh',
      ['-f'],
      [
        'compdef() { :; }',
        'compadd() { print -r -- "${@[1,-2]}" "${candidates[@]}"; }',
        '_files() { print -r -- FILES; }',
        completionScript('zsh'),
        `words=(${words.map((word) => `'${word}'`).join(' ')}) CURRENT=${words.length}`,
        '_podloop',
      ].join('\n'),
    );

  it('names are offered, and files where a file is wanted', async () => {
    expect(await ask('podloop', 'logs', '')).toEqual(['-a asked-2 web-1 web-2']);
    expect(await ask('podloop', 'apply', '-f', '')).toEqual(['FILES']);
    expect(await ask('podloop', 'port')).toEqual(['-S  -a port=']);
  });
});

describe.skipIf(!has('bash'))('in bash', () => {
  it('is understood, and belongs to podloop', async () => {
    const script = `${completionScript('bash')}\ncomplete -p podloop`;
    expect((await inShell('bash', ['--norc'], script)).join(' ')).toMatch(/complete .*podloop$/);
  });
});
