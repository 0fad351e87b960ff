import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSeccompFilter } from '../seccomp/seccomp-profile.js';
import { carryToStarter, type ProgramFilter, renderStarter } from './program-starter.js';

const script = renderStarter(process.arch);
const hasPerl = script !== undefined && spawnSync('perl', ['-e', '1']).status === 0;

describe.skipIf(!hasPerl)('the starter of programs (needs perl)', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'podloop-starter-'));
    writeFileSync(join(folder, 'start.pl'), script!);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts a program through a shell, as the scripts of containers do. */
  function start(
    command: string,
    environment: Buffer[] = [],
    place = '/',
    before = '',
    filter?: ProgramFilter,
  ) {
    const starter = ['perl', join(folder, 'start.pl')];
    const { exports, words } = carryToStarter(environment, starter, place, filter);
    expect(words.toString()).not.toContain('secret');
    const input = Buffer.concat([Buffer.from(`${before}\n`), exports, Buffer.from('exec '), words]);
    const whole = Buffer.concat([input, Buffer.from(`${command}\n`)]);
    const env = { PATH: '/usr/bin:/bin', LEFT: 'over' };
    return spawnSync('/bin/sh', ['-s'], { input: whole, env, cwd: folder });
  }

  it('gives a program its own variables, byte by byte and in their order, and no others', () => {
    const own = [
      'PATH=/bin',
      'a=secret-A',
      'with blank=$HOME\n',
      "it's=`x`",
      '-e=option',
      'b=',
      'PERL5OPT=-Mno',
    ]
      .map((each) => Buffer.from(each))
      .concat(Buffer.from([0xe4, 0x3d, 0xff, 0xfe]));
    const { stdout } = start('/bin/cat /proc/self/environ', own);
    expect(stdout).toEqual(Buffer.concat(own.flatMap((each) => [each, Buffer.from([0])])));
    const many = Array.from({ length: 5000 }, (_, at) => Buffer.from(`SERVICE_${at}_HOST=secret-${at}`));
    const said = start('/bin/cat /proc/self/environ', many).stdout.toString();
    expect(said.split('\0').slice(0, -1)).toEqual(many.map(String));
  });

  it('takes more variables in front of the program, and finds that by its own PATH', () => {
    const { stdout } = start("TERM=xterm 'x y=1\n=2' env", [Buffer.from('PATH=/usr/bin:/bin')]);
    expect(stdout.toString()).toBe('PATH=/usr/bin:/bin\nTERM=xterm\nx y=1\n=2\n');
    const { status, stderr } = start('env', [Buffer.from('PATH=/nowhere')]);
    expect([status, stderr.toString()]).toEqual([127, "cannot execute 'env': No such file or directory\n"]);
    expect(start('/etc/passwd', []).status).toBe(126);
  });

  it('begins in the folder, and in none that has no path in the root', () => {
    expect(start('pwd', [Buffer.from('PATH=/bin')], '/usr/../usr/bin').stdout.toString()).toBe(
      execFileSync('readlink', ['-f', '/usr/bin']).toString(),
    );
    const missing = start('/bin/true', [], '/nowhere');
    expect([missing.status, missing.stderr.toString()]).toEqual([
      125,
      "cannot change directory to '/nowhere': No such file or directory\n",
    ]);
    const gone = start('/bin/true', [], '/proc/self/fd/5', 'mkdir gone; exec 5<gone; rmdir gone');
    expect([gone.status, gone.stderr.toString()]).toEqual([
      126,
      'current working directory is outside of container mount namespace root: /proc/self/fd/5\n',
    ]);
  });

  it('loads a filter of system calls last, when the program needs no more than to be executed', async () => {
    const profile = {
      defaultAction: 'SCMP_ACT_ALLOW',
      syscalls: [
        { names: ['mkdir', 'mkdirat', 'capset', 'chdir', 'getcwd'], action: 'SCMP_ACT_ERRNO', errnoRet: 28 },
      ],
    };
    const file = join(folder, 'profile.json');
    writeFileSync(file, JSON.stringify(profile));
    const filter = { ...(await readSeccompFilter(file)), dropsSysAdmin: false };
    const path = [Buffer.from('PATH=/usr/bin:/bin')];
    const free = start(`setpriv --no-new-privs true && mkdir ${join(folder, 'made')}`, path);
    expect([free.status, free.stderr.toString()]).toEqual([0, '']);
    const wrapped = `setpriv --no-new-privs perl ${join(folder, 'start.pl')} `;
    const { words } = carryToStarter([], [], '/', filter);
    const bound = start(`${wrapped}${words.toString()} /bin/mkdir ${join(folder, 'other')}`, path);
    expect(bound.stderr.toString()).toMatch(/mkdir: .*No space left on device/);
    const broken = { ...filter, program: Buffer.from('0000000000000000', 'hex') };
    const refusedWords = carryToStarter([], [], '/', broken).words.toString();
    const refused = start(`${wrapped}${refusedWords} /bin/true`, path);
    expect([refused.status, refused.stderr.toString()]).toEqual([
      126,
      'cannot load its seccomp profile: Invalid argument\n',
    ]);
  });
});

it('is none where the number of the call is not known', () => {
  expect(renderStarter('riscv64')).toBeUndefined();
});
