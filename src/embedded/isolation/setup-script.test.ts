import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
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
