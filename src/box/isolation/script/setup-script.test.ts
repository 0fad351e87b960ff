import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OPENER } from './program-starter.js';
import { renderSetup, type SetupRequest } from './setup-script.js';

const TOOLS = {
  dir: '/r/tools',
  inside: (name: string) => [`./${name}`],
  insideFrom: (folder: string, name: string) => [`${folder}/${name}`],
  outside: (name: string) => `/bin/${name}`,
};
const REQUEST: SetupRequest = {
  dir: '/r/containers/c',
  base: '/r/stage',
  tools: TOOLS as never,
  plan: {
    before: [],
    devicePoints: [],
    after: [{ points: [], entries: [] }],
    submountRules: [],
    up: '../..',
  },
  sharesMounts: false,
  joinFiles: ['/sys/fs/cgroup/x/cgroup.procs'],
  ownCgroups: false,
  oomScoreAdj: '0',
  devices: [],
  extraDevices: [],
  masked: [],
  readonly: [],
  readonlyRoot: false,
  rootRestrictions: [],
  tty: false,
  privilegeSteps: ['./setpriv'],
  argv: ['program', 'argument'],
  environment: [Buffer.from('PASSWORD=secret')],
  workingDir: { path: '/', place: '/', certain: true },
  candidates: ['/bin/program'],
};

function render(more: Partial<SetupRequest>): { script: string; second: string } {
  const { script, files } = renderSetup({ ...REQUEST, ...more });
  return { script: script.toString(), second: files.get('setup.second')?.toString() ?? '' };
}

describe('renderSetup', () => {
  it('is understood by the shell', () => {
    for (const ownCgroups of [false, true]) {
      for (const input of Object.values(render({ ownCgroups }))) execFileSync('/bin/sh', ['-n'], { input });
    }
  });

  it('has a cgroup namespace made by the process that has joined its group, before the host’s files are cut off', () => {
    const { script, second } = render({ ownCgroups: true });
    expect(script).toMatch(
      /^\(\n[^]*cgroup\.procs'[^]*exec '\/bin\/unshare' --cgroup \/bin\/sh \.\/setup\.second\n\)\n/m,
    );
    expect(script).not.toContain('pivot_root');
    expect(second).toMatch(/pivot_root[^]*exec '.\/setsid'/);
    expect(second).not.toContain('cgroup.procs');
    // All but that is the same.
    const whole = render({}).script;
    expect(whole).toContain(second.slice(second.indexOf("cd '/r/stage/tools'")));
    expect(whole).not.toContain('--cgroup');
  });

  it('has no value of a variable in a line that executes anything', () => {
    for (const ownCgroups of [false, true]) {
      const lines = Object.values(render({ ownCgroups })).join('\n').split('\n');
      const secret = lines.filter((line) => line.includes('secret'));
      expect(secret).toEqual(["export a='secret'"]);
    }
  });

  it('enters a folder that others may move, and checks it, in one process where there is a starter', () => {
    const workingDir = { path: '/v/dir', place: '/v/dir', certain: false };
    const tools = { ...TOOLS, starter: ['./perl', './start.pl'] } as never;
    const lastOf = (more: Partial<SetupRequest>) => render(more).script.split('\n').at(-4);
    expect(lastOf({ tools, workingDir })).toBe(
      "exec './setsid' './setpriv' './perl' './start.pl' '/v/dir' '1' 'a' 'PASSWORD' 'program' 'argument' ",
    );
    const twoSteps = lastOf({ workingDir });
    expect(twoSteps).toMatch(/exec "\$@"' 'sh' '\.\/env' '-i' '-C' '\/v\/dir'/);
    expect(render({ workingDir }).script).toContain('outside of container mount namespace root');
    expect(render({}).script).not.toContain('outside of container mount namespace root');
  });
});

describe('a read-only path', () => {
  const hasPerl = spawnSync('/usr/bin/perl', ['-e', '1']).status === 0;
  let folder = '';

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-protect-'));
    await symlink('/bin/sh', join(folder, 'sh'));
    await writeFile(join(folder, 'open.pl'), OPENER);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Runs the script's function for one path, and puts something else there once it was bound, or once its kind was asked for. */
  async function protect(
    swap: string,
    withPerl: boolean,
    when: 'bound' | 'checked' = 'bound',
  ): Promise<{ mounts: string[]; fault: string }> {
    const tools = { ...TOOLS, ...(withPerl && { opener: ['/usr/bin/perl', './open.pl'] }) } as never;
    const { script } = render({ tools, readonly: ['/unused'] });
    const functions = script.slice(script.indexOf('fault() {'), script.indexOf('plain() {'));
    const body = script.slice(script.indexOf('protect() {'));
    const own = body.slice(0, body.indexOf('\n}\n') + 3);
    const checked = own.replaceAll(/\[ (-[a-z]) "\$1" \]/g, 'checked $1 "$$1"');
    const mount = `#!/bin/sh
echo "$*" >>mounts
case "$*" in *--rbind*) ${when === 'bound' ? `rm -rf path; ${swap}` : ''} ;; esac
`;
    const check = `checked() { test "$1" "$2" || return; ${when === 'checked' ? `rm -rf path; ${swap}` : ':'}; true; }\n`;
    await writeFile(join(folder, 'mount'), mount, { mode: 0o755 });
    const run = promisify(execFile);
    const command = `cd "$0" && exec 9>fault\n${functions}${check}${checked}protect path`;
    await run('/bin/sh', ['-c', command, folder]).catch(() => undefined);
    const read = (name: string) => readFile(join(folder, name), 'utf8');
    return { mounts: (await read('mounts')).split('\n').slice(0, -1), fault: await read('fault') };
  }

  const KINDS = ['folder', 'file'] as const;
  const SWAPS = ['mkfifo path', 'ln -s /dev/null path', 'mkdir path', ': >path', ':'];
  const cases = KINDS.flatMap((kind) =>
    SWAPS.flatMap((swap) => [false, ...(hasPerl ? [true] : [])].map((perl) => [kind, swap, perl] as const)),
  ).flatMap((each) => (['bound', 'checked'] as const).map((when) => [...each, when] as const));
  it.each(cases)(
    'is never waited for: a %s, then "%s", with perl: %s, once %s',
    async (kind, swap, withPerl, when) => {
      if (kind === 'folder') await mkdir(join(folder, 'path'));
      else await writeFile(join(folder, 'path'), '');
      const { mounts } = await protect(swap, withPerl, when);
      expect(mounts[0]).toBe('-n -i -c --rbind path path');
      expect(mounts.length).toBeLessThanOrEqual(2);
    },
  );

  it.each(KINDS)('keeps the options of its mount when nothing is swapped: a %s', async (kind) => {
    if (kind === 'folder') await mkdir(join(folder, 'path'));
    else await writeFile(join(folder, 'path'), '');
    const { mounts, fault } = await protect(kind === 'folder' ? 'mkdir path' : ': >path', hasPerl);
    expect(fault).toBe('');
    if (kind === 'folder' || hasPerl)
      expect(mounts[1]).toMatch(/^-n -i -c -o remount,bind,ro,nodev\S* podloop \/proc\/self\/fd\/\d+$/);
    else expect(mounts[1]).toBe('-n -i -c -o remount,bind,ro,nodev,nosuid,noexec podloop path');
  });
});
