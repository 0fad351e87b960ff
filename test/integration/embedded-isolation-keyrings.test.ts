/**
 * Which of the kernel's keyrings a container in namespaces gets at. Needs root, perl and a kernel with keyrings.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cri } from '../../src/watch/cri/index.js';
import { KEYRING_CALLS } from '../../src/box/isolation/session-keyring.js';
import { IsolatedPod, secured } from './isolated-pod.js';

const run = promisify(execFile);
const calls = KEYRING_CALLS[process.arch];
const hasKeyrings = await Promise.all(['/proc/keys', '/usr/bin/perl'].map((path) => access(path))).then(
  () => process.getuid?.() === 0 && calls !== undefined,
  () => false,
);
const KEYCTL = calls?.keyctl ?? 0;
const ADD_KEY = calls?.refused[0]?.[1][0] ?? 0;
/** Special serials; see keyctl(2). */
const SESSION = -3;
const USER_SESSION = -5;

/** A script of perl in a shell's; it prints what the call returned, or why it failed. */
const perl = (code: string) => `perl -e '${code}'`;
const serialOf = (keyring: number) =>
  perl(`my $r = syscall(${KEYCTL}, 0, ${keyring}, 0); print $r < 0 ? "$!" : $r, "\\n"`);
const add = (name: string, data: string, keyring = SESSION) =>
  perl(
    `print syscall(${ADD_KEY}, my $t = "user", my $n = "${name}", my $d = "${data}", ${data.length}, ${keyring}), "\\n"`,
  );
const read = (name: string) =>
  perl(
    `my $k = syscall(${KEYCTL}, 10, ${SESSION}, my $t = "user", my $n = "${name}", 0); my $b = "\\0" x 64;` +
      ` my $l = $k < 0 ? -1 : syscall(${KEYCTL}, 11, $k, $b, 64); print $l < 0 ? "$!" : substr($b, 0, $l), "\\n"`,
  );

describe.skipIf(!hasKeyrings)('keyrings of a container in namespaces (needs root, perl)', () => {
  let pod: IsolatedPod;
  let ofKey = '';
  let ofHost = '';
  beforeAll(async () => {
    // What a process without a session keyring of its own has.
    const script = `${add('podloop-test', 'HOSTKEYDATA', USER_SESSION)}; ${serialOf(USER_SESSION)}`;
    [ofKey = '', ofHost = ''] = (await run('sh', ['-c', script])).stdout.split('\n');
    pod = await IsolatedPod.start();
  }, 60_000);
  afterAll(async () => {
    await pod[Symbol.asyncDispose]();
    await run('perl', ['-e', `syscall(${KEYCTL}, 9, ${ofKey}, ${USER_SESSION})`]);
  });

  it('are its own: an empty session keyring for it and for each command in it, as root and as anybody', async () => {
    expect((await run('sh', ['-c', read('podloop-test')])).stdout).toBe('HOSTKEYDATA\n');
    const serials = [ofHost];
    for (const user of [0n, 1234n]) {
      const parts = secured({ runAsUser: { value: user } });
      const container = await pod.start(`${add('mine', 'OWN')} >/dev/null; exec sleep 1000`, parts);
      for (const said of [
        await pod.run(`${serialOf(SESSION)}; ${read('podloop-test')}; ${read('mine')}`, parts),
        await pod.exec(container, `${serialOf(SESSION)}; ${read('podloop-test')}; ${read('mine')}`),
      ]) {
        expect(said[0]).toMatch(/^\d+$/);
        expect(said.slice(1)).toEqual(['Required key not available', 'Required key not available']);
        serials.push(said[0]!);
      }
      await pod.remove(container);
    }
    expect(new Set(serials).size).toBe(5);
  });

  it('are all refused by RuntimeDefault, also those of its user', async () => {
    const script = [serialOf(SESSION), serialOf(USER_SESSION), add('x', 'y'), read('podloop-test')].join(
      '; ',
    );
    const seccomp = { profileType: cri.SecurityProfile_ProfileType.RuntimeDefault, localhostRef: '' };
    for (const runAsUser of [{ value: 0n }, { value: 1234n }]) {
      const parts = secured({ seccomp, runAsUser });
      const refused = ['Operation not permitted', 'Operation not permitted', '-1', 'Operation not permitted'];
      expect(await pod.run(script, parts)).toEqual(refused);
      const container = await pod.start('exec sleep 1000', parts);
      expect(await pod.exec(container, script)).toEqual(refused);
      await pod.remove(container);
    }
    const said = await pod.run(serialOf(SESSION), secured({ seccomp, privileged: true }));
    expect(said[0]).toMatch(/^\d+$/);
  });

  it('may be used by its programs: keys that one adds, another of it finds', async () => {
    expect(await pod.run(`${add('inner', 'SHARED')} >/dev/null; ${read('inner')}`)).toEqual(['SHARED']);
  });
});
