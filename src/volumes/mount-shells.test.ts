import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MountShell } from './mount-shell.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-mount-shell-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A program in place of the shell, told of in shell's words. */
async function makeShell(script: string): Promise<string> {
  const file = join(folder, 'shell');
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

/** The real one, with tools that only write down what they were given. */
async function makeRecorder(then = 'true'): Promise<{ shell: string; calls: () => Promise<string> }> {
  const record = join(folder, 'calls');
  const tool = `printf '%s|' "$@" >>'${record}'; echo >>'${record}'; ${then}`;
  const script = `mount() { ${tool}; }; umount() { ${tool}; }; while IFS= read -r line; do eval "$line"; done`;
  return { shell: await makeShell(script), calls: () => readFile(record, 'utf8') };
}

it('tells in the tool’s own words what went wrong, again and again in the same shell', async () => {
  const shell = new MountShell();
  for (let time = 0; time < 3; time++) {
    await expect(shell.run('umount', ['-n', join(folder, 'not there')])).rejects.toThrow(
      /^umount failed: umount: .*not there/,
    );
  }
  await shell.run('mount', ['--version']);
});

it('gives words as they are, whatever is in them', async () => {
  const { shell, calls } = await makeRecorder();
  const mounts = new MountShell({ shell });
  await Promise.all([
    mounts.run('mount', ['-o', 'mode=755', `/it's "a" $(touch ${folder}/no) path\\`]),
    mounts.run('umount', ['-l', '/`two`;  words', '']),
  ]);
  expect(await calls()).toBe(`-o|mode=755|/it's "a" $(touch ${folder}/no) path\\|\n-l|/\`two\`;  words||\n`);
  expect(await readdir(folder)).not.toContain('no');
});

it('takes the last line of what a tool says, and its status where it says nothing', async () => {
  const spoken = new MountShell({
    shell: (await makeRecorder('echo first >&2; echo last >&2; false')).shell,
  });
  await expect(spoken.run('mount', ['x'])).rejects.toThrow('mount failed: last');
  const silent = new MountShell({ shell: (await makeRecorder('return 32')).shell });
  await expect(silent.run('umount', ['x'])).rejects.toThrow('umount failed: it ended with 32');
});

it('ends what hangs, and goes on with the next in another shell', async () => {
  const { shell } = await makeRecorder('test "$1" = fine || sleep 1000');
  const mounts = new MountShell({ shell, limitMs: 200 });
  const hung = mounts.run('mount', ['hung']);
  const next = mounts.run('mount', ['fine']);
  await expect(hung).rejects.toThrow('mount failed: it was ended by SIGKILL');
  await next;
});

it('starts another shell when one has ended', async () => {
  const once = await makeShell(
    'read -r line; test ! -e "$0.ended" && touch "$0.ended" && exit 1; eval "$line"',
  );
  const mounts = new MountShell({ shell: once });
  await expect(mounts.run('umount', ['x'])).rejects.toThrow('umount failed: its shell has ended');
  await expect(mounts.run('umount', [join(folder, 'gone')])).rejects.toThrow(/umount: .*gone/);
});

it('ends the shell when there is nothing to do for a while', async () => {
  const ended = join(folder, 'ended');
  const shell = await makeShell(`while IFS= read -r line; do eval "$line"; done; touch '${ended}'`);
  const mounts = new MountShell({ shell, idleMs: 1 });
  await mounts.run('mount', ['--version']);
  await expect.poll(() => readdir(folder)).toContain('ended');
  await rm(ended);
  await mounts.run('mount', ['--version']);
  await expect.poll(() => readdir(folder)).toContain('ended');
});

it.each([
  ['there is no shell', () => join(folder, 'none')],
  ['none can be started at all', () => ''],
])('runs the tools itself where %s', async (_, shell) => {
  const mounts = new MountShell({ shell: shell() });
  await expect(mounts.run('umount', [join(folder, 'gone')])).rejects.toThrow(/umount: .*gone/);
  await mounts.run('mount', ['--version']);
});
