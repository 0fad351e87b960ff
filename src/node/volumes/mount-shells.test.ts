import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SystemClock } from '#base/time/clock.js';
import { MountShells, type MountShellsOptions } from './mount-shells.js';

let folder: string;
const open: MountShells[] = [];

function makeShells(options: Partial<MountShellsOptions> = {}): MountShells {
  const shells = new MountShells({ clock: new SystemClock(), ...options });
  open.push(shells);
  return shells;
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-mount-shell-'));
});
afterEach(async () => {
  // First: what still waits for something in it ends then.
  await rm(folder, { recursive: true });
  await Promise.all(open.splice(0).map((shells) => shells[Symbol.asyncDispose]()));
});

/** A program in place of the shell, written as a shell script. */
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

it('reports in the tool’s own words what went wrong, again and again in the same shell', async () => {
  const shell = makeShells();
  for (let time = 0; time < 3; time++) {
    await expect(shell.run('umount', ['-n', join(folder, 'not there')])).rejects.toThrow(
      /^umount failed: umount: .*not there/,
    );
  }
  await shell.run('mount', ['--version']);
});

it('gives words as they are, whatever is in them', async () => {
  const { shell, calls } = await makeRecorder();
  const mounts = makeShells({ shell });
  await mounts.run('mount', ['-o', 'mode=755', `/it's "a" $(touch ${folder}/no) path\\`]);
  await mounts.run('umount', ['-l', '/`two`;  words', '']);
  expect(await calls()).toBe(`-o|mode=755|/it's "a" $(touch ${folder}/no) path\\|\n-l|/\`two\`;  words||\n`);
  expect(await readdir(folder)).not.toContain('no');
});

it('takes the last line of what a tool says, and its status where it says nothing', async () => {
  const spoken = makeShells({
    shell: (await makeRecorder('echo first >&2; echo last >&2; false')).shell,
  });
  await expect(spoken.run('mount', ['x'])).rejects.toThrow('mount failed: last');
  const silent = makeShells({ shell: (await makeRecorder('return 32')).shell });
  await expect(silent.run('umount', ['x'])).rejects.toThrow('umount failed: it ended with 32');
});

it('ends what hangs, and goes on with the next in another shell', async () => {
  const { shell } = await makeRecorder('test "$1" = fine || sleep 1000');
  const mounts = makeShells({ shell, limitMs: 200 });
  const hung = mounts.run('mount', ['hung']);
  const next = mounts.run('mount', ['fine']);
  await expect(hung).rejects.toThrow('mount failed: it was ended by SIGKILL');
  await next;
});

it('starts another shell when one has ended', async () => {
  const once = await makeShell(
    'read -r line; test ! -e "$0.ended" && touch "$0.ended" && exit 1; eval "$line"',
  );
  const mounts = makeShells({ shell: once });
  await expect(mounts.run('umount', ['x'])).rejects.toThrow('umount failed: its shell has ended');
  await expect(mounts.run('umount', [join(folder, 'gone')])).rejects.toThrow(/umount: .*gone/);
});

it('ends the shell when there is nothing to do for a while', async () => {
  const ended = join(folder, 'ended');
  const shell = await makeShell(`while IFS= read -r line; do eval "$line"; done; touch '${ended}'`);
  const mounts = makeShells({ shell, idleMs: 1 });
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
  const mounts = makeShells({ shell: shell() });
  await expect(mounts.run('umount', [join(folder, 'gone')])).rejects.toThrow(/umount: .*gone/);
  await mounts.run('mount', ['--version']);
});

/** The real one, with tools that say that they begin and end, and end as soon as a file called `go-PLACE` is there. */
async function makeGated(): Promise<{
  shell: string;
  calls: () => Promise<string[]>;
  letGo: (place: string) => Promise<void>;
}> {
  const record = join(folder, 'calls');
  await writeFile(record, '');
  const tool = (name: string): string =>
    `${name}() { echo "${name} $1" >>'${record}'; until test -e '${folder}/go-'"$1" || test ! -d '${folder}'; do sleep 0.01; done; echo "${name} $1 ended" >>'${record}'; }`;
  const script = `echo $$ >>'${folder}/pids'; ${tool('mount')}; ${tool('umount')}; while IFS= read -r line; do eval "$line"; done`;
  return {
    shell: await makeShell(script),
    calls: async () => (await readFile(record, 'utf8')).split('\n').filter((line) => line !== ''),
    letGo: (place) => writeFile(join(folder, `go-${place}`), ''),
  };
}

const readPids = async (): Promise<number[]> =>
  (await readFile(join(folder, 'pids'), 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number);

/** What still runs of the groups that shells have begun; not what has ended and nobody has asked about. */
async function findLeft(groups: readonly number[]): Promise<string[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(
    names.map(async (name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')),
  );
  return stats.filter((stat) => {
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state !== 'Z' && groups.includes(Number(group));
  });
}

const SOON = { timeout: 20_000 };

describe('several at once', () => {
  it('do not wait for an unmount that takes its time, and mounts not for as many as there are', async () => {
    const { shell, calls, letGo } = await makeGated();
    const mounts = makeShells({ shell, clock: new FakeClock() });
    const slow = ['a', 'b', 'c', 'd'].map((place) => mounts.run('umount', [place]));
    await expect.poll(calls, SOON).toHaveLength(3);
    await letGo('fine');
    await mounts.run('mount', ['fine']);
    await mounts.run('mount', ['fine']);
    await expect.poll(() => mounts.counts, SOON).toMatchObject({ running: 3, waiting: 1, idle: 1 });
    for (const place of ['a', 'b', 'c', 'd']) await letGo(place);
    await Promise.all(slow);
    expect(await readPids()).toHaveLength(4);
  }, 60_000);

  it('start no shell while one has nothing to do', async () => {
    const { shell, letGo } = await makeGated();
    const mounts = makeShells({ shell });
    for (const place of ['a', 'b', 'c']) {
      await letGo(place);
      await mounts.run('mount', [place]);
    }
    expect(await readPids()).toHaveLength(1);
  }, 60_000);

  it('never overtake one another at one place', async () => {
    const { shell, calls, letGo } = await makeGated();
    const mounts = makeShells({ shell });
    const all = (['mount', 'umount', 'mount'] as const).map((tool) => mounts.run(tool, ['a']));
    await expect.poll(calls, SOON).toEqual(['mount a']);
    await letGo('b');
    await mounts.run('mount', ['b']);
    expect((await calls()).filter((line) => line.includes(' a'))).toEqual(['mount a']);
    await letGo('a');
    await Promise.all(all);
    expect((await calls()).filter((line) => line.includes(' a'))).toEqual([
      ...['mount a', 'mount a ended', 'umount a', 'umount a ended', 'mount a', 'mount a ended'],
    ]);
  }, 60_000);

  it('do not overtake at one place one that waits because too many are being unmounted', async () => {
    const { shell, calls, letGo } = await makeGated();
    const mounts = makeShells({ shell });
    const slow = ['a', 'b', 'c', 'd'].map((place) => mounts.run('umount', [place]));
    const behind = mounts.run('mount', ['d']);
    await letGo('fine');
    await mounts.run('mount', ['fine']);
    expect(await calls()).not.toContain('mount d');
    for (const place of ['a', 'b', 'c', 'd']) await letGo(place);
    await Promise.all([...slow, behind]);
    const ofD = (await calls()).filter((line) => line.includes(' d'));
    expect(ofD).toEqual(['umount d', 'umount d ended', 'mount d', 'mount d ended']);
  }, 60_000);
});

describe('a shell that is killed in the middle of a tool', () => {
  it('takes the tool with it, is an error, and the next one at that place gets another', async () => {
    const { shell, calls, letGo } = await makeGated();
    const mounts = makeShells({ shell });
    const lost = mounts.run('umount', ['a']);
    const next = mounts.run('mount', ['a']);
    await expect.poll(calls, SOON).toEqual(['umount a']);
    const [pid] = await readPids();
    process.kill(pid!, 'SIGKILL');
    await expect(lost).rejects.toThrow('umount failed: its shell has ended');
    await letGo('a');
    await next;
    expect(await calls()).toEqual(['umount a', 'mount a', 'mount a ended']);
    expect(await findLeft([pid!])).toEqual([]);
  }, 60_000);

  it('is replaced when it had nothing to do', async () => {
    const { shell, letGo } = await makeGated();
    const mounts = makeShells({ shell });
    await letGo('a');
    await mounts.run('mount', ['a']);
    const [pid] = await readPids();
    process.kill(pid!, 'SIGKILL');
    await expect.poll(() => mounts.counts.idle, SOON).toBe(0);
    await mounts.run('mount', ['a']);
    expect(await readPids()).toHaveLength(2);
  }, 60_000);
});

describe('who waits for his turn', () => {
  it('is refused beyond a limit, gets the name of what holds it up, and is counted', async () => {
    const { shell, letGo } = await makeGated();
    const mounts = makeShells({ shell, mostWaiting: 1 });
    const first = mounts.run('umount', ['a']);
    const second = mounts.run('umount', ['a']);
    await expect(mounts.run('mount', ['a'])).rejects.toThrow(
      'mount was not begun: 1 others wait already, held up by umount a;',
    );
    expect(mounts.counts).toMatchObject({ running: 1, waiting: 1, refused: 1 });
    await letGo('a');
    await Promise.all([first, second]);
  }, 60_000);

  it('is refused in time, and counted', async () => {
    const { shell, calls, letGo } = await makeGated();
    const clock = new FakeClock();
    const mounts = makeShells({ shell, clock, limitMs: 60_000 });
    const first = mounts.run('umount', ['a']);
    await expect.poll(calls, SOON).toHaveLength(1);
    await clock.advance(30_000);
    const second = mounts.run('umount', ['a']);
    const third = mounts.run('umount', ['a']);
    const refused = expect(third).rejects.toThrow(
      'umount was not begun: its turn did not come for 60 s, held up by umount a;',
    );
    const ended = expect(first).rejects.toThrow('it was ended by SIGKILL');
    await clock.advance(30_000);
    await ended;
    await expect.poll(async () => (await calls()).length, SOON).toBe(2);
    await clock.advance(30_000);
    await refused;
    expect(mounts.counts).toMatchObject({ running: 1, waiting: 0, expired: 1 });
    await letGo('a');
    await second;
  }, 60_000);

  it('goes when the signal aborts, and lets those behind him by; what has begun goes on', async () => {
    const { shell, calls, letGo } = await makeGated();
    const mounts = makeShells({ shell });
    const ending = new AbortController();
    const begun = mounts.run('umount', ['a'], ending.signal);
    const waits = mounts.run('mount', ['a'], ending.signal);
    const behind = mounts.run('mount', ['a']);
    ending.abort(new Error('the pod is gone'));
    await expect(waits).rejects.toThrow('the pod is gone');
    await expect(mounts.run('mount', ['b'], ending.signal)).rejects.toThrow('the pod is gone');
    await letGo('a');
    await Promise.all([begun, behind]);
    expect(await calls()).toEqual(['umount a', 'umount a ended', 'mount a', 'mount a ended']);
  }, 60_000);
});

it('leaves no process behind: what runs comes to its end, what waits is refused', async () => {
  const { shell, calls, letGo } = await makeGated();
  const mounts = makeShells({ shell });
  await letGo('b');
  const running = mounts.run('umount', ['a']);
  await mounts.run('mount', ['b']);
  await expect.poll(calls, SOON).toContain('umount a');
  const waits = mounts.run('mount', ['a']);
  const disposed = mounts[Symbol.asyncDispose]();
  await expect(waits).rejects.toThrow('mount was not begun: podloop is ending');
  await letGo('a');
  await running;
  await disposed;
  const pids = await readPids();
  expect(pids).toHaveLength(2);
  expect(await findLeft(pids)).toEqual([]);
  await expect(mounts.run('mount', ['b'])).rejects.toThrow('podloop is ending');
}, 60_000);
