import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '#support/until-true.js';
import { ExecPlugin } from './exec-plugin.js';
import { type ExecCommand } from './kubeconfig.js';

const API = 'client.authentication.k8s.io/v1';

describe('a program that hands out credentials', () => {
  let folder: string;
  const clock = new FakeClock();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-exec-plugin-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function plugin(script: string, more: Partial<ExecCommand> = {}): Promise<ExecPlugin> {
    const command = join(folder, 'get-token');
    await writeFile(command, `#!/bin/sh\necho run >> ${folder}/runs\n${script}\n`);
    await chmod(command, 0o755);
    const usual = {
      apiVersion: API,
      command,
      args: [],
      env: {},
      installHint: '',
      provideClusterInfo: false,
    } as const;
    return new ExecPlugin({
      ...{ command: { ...usual, ...more }, file: '/kubeconfig', cluster: { server: 'https://a' }, clock },
      environment: { PATH: process.env['PATH'], FROM_AGENT: 'x' },
    });
  }

  const say = (status: object, apiVersion = API): string =>
    `cat <<'E'\n${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}\nE`;
  const runs = async (): Promise<number> =>
    (await readFile(join(folder, 'runs'), 'utf8')).trim().split('\n').length;

  it('is run once for all who ask, until its credentials end', async () => {
    const expirationTimestamp = new Date(clock.now() + 60_000).toISOString();
    const exec = await plugin(say({ token: 'abc', expirationTimestamp }));
    await expect(Promise.all([exec.get(), exec.get()])).resolves.toEqual([
      { token: 'abc' },
      { token: 'abc' },
    ]);
    await exec.get();
    expect(await runs()).toBe(1);
    await clock.advance(55_000);
    await exec.get();
    expect(await runs()).toBe(2);
  });

  it('is run again for credentials that the server refused', async () => {
    const exec = await plugin(say({ token: 'abc' }));
    await exec.get();
    exec.forget();
    await exec.get();
    expect(await runs()).toBe(2);
  });

  it('is told what it is wanted for', async () => {
    const exec = await plugin(
      `printf '%s\\n' "$KUBERNETES_EXEC_INFO" "$FROM_AGENT" "$OWN" "$*" > ${folder}/told\n${say({ token: 't' })}`,
      { args: ['a', 'b c'], env: { OWN: 'y' }, provideClusterInfo: true },
    );
    await exec.get();
    const [info = '', ...rest] = (await readFile(join(folder, 'told'), 'utf8')).trim().split('\n');
    expect(JSON.parse(info)).toEqual({
      ...{ apiVersion: API, kind: 'ExecCredential' },
      spec: { interactive: false, cluster: { server: 'https://a' } },
    });
    expect(rest).toEqual(['x', 'y', 'a b c']);
  });

  it.each([
    ['echo no such account >&2; exit 3', 'ended with 3: no such account'],
    ['echo secret', 'has written something that is no JSON'],
    [
      say({ token: 'secret' }, 'client.authentication.k8s.io/v1beta1'),
      'something else than an ExecCredential',
    ],
    [say({}), 'has handed out neither a token nor a certificate'],
    [say({ clientCertificateData: 'secret' }), 'a certificate without its key'],
  ])('is told of when it fails, without what it has written: %s', async (script, message) => {
    const exec = await plugin(script);
    const error = await exec.get().then(
      () => new Error('it did not fail'),
      (e: unknown) => e as Error,
    );
    expect(error.message).toContain(`/kubeconfig: the program ${folder}/get-token `);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('secret');
  });

  /** Starts something that writes where the program writes, for longer than any test lasts. */
  const LINGERER = 'sleep 1000 &\necho $! >> "$FOLDER/pids"';
  const pids = (): string[] => readIfThere(join(folder, 'pids')).trim().split('\n');
  /** One that nobody has waited for yet has ended, too. */
  const hasEnded = (pid: string): boolean => {
    const stat = readIfThere(`/proc/${pid}/stat`);
    return stat === '' || /\) [ZX] /.test(stat);
  };
  const untilAllEnded = async (): Promise<void> => untilTrue(() => pids().every(hasEnded));

  it('is ended with all that it has started when it hangs, and run again for who asks next', async () => {
    const hang = `${LINGERER}\necho no network >&2\ntouch "$FOLDER/hangs"\nwait`;
    const exec = await plugin(`if [ ! -e "$FOLDER/hangs" ]; then\n${hang}\nfi\n${say({ token: 'abc' })}`, {
      env: { FOLDER: folder },
    });
    const got = exec.get().catch((error: unknown) => error);
    await untilTrue(() => existsSync(join(folder, 'hangs')));
    await clock.advance(59_000);
    expect(pids().map(hasEnded)).toEqual([false]);
    await clock.advance(1_000);
    expect(await got).toMatchObject({
      code: 'KUBECONFIG_INVALID',
      message: expect.stringContaining('get-token has not ended within 1m0s') as string,
    });
    await untilAllEnded();
    await expect(exec.get()).resolves.toEqual({ token: 'abc' });
    expect(await runs()).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    ['with credentials', say({ token: 'abc' }), { token: 'abc' }],
    ['without', 'echo no such account >&2\nexit 3', /ended with 3: no such account$/],
  ])('need not wait for what it leaves behind, which is ended: %s', async (_, script, expected) => {
    const exec = await plugin(`${LINGERER}\n${script}`, { env: { FOLDER: folder } });
    const got = exec.get().catch((error: unknown) => (error as Error).message);
    // It was seen to end.
    await untilTrue(() => (clock.nextTimerInMs ?? Infinity) <= 1_000);
    await clock.advance(1_000);
    if (expected instanceof RegExp) expect(await got).toMatch(expected);
    else expect(await got).toEqual(expected);
    await untilAllEnded();
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves alone what goes on beside it and writes elsewhere', async () => {
    const beside = 'sleep 1000 > /dev/null 2>&1 &\necho $! >> "$FOLDER/pids"';
    const exec = await plugin(`${beside}\n${say({ token: 'abc' })}`, { env: { FOLDER: folder } });
    await expect(exec.get()).resolves.toEqual({ token: 'abc' });
    await clock.advance(120_000);
    const [pid] = pids();
    expect(hasEnded(pid!)).toBe(false);
    process.kill(Number(pid), 'SIGKILL');
    await untilAllEnded();
  });

  it('may be missing, with a hint', async () => {
    const exec = await plugin('', {
      command: 'no-such-program-here',
      installHint: 'install it from the wall',
    });
    await expect(exec.get()).rejects.toThrow(
      'the program no-such-program-here is not there: install it from the wall',
    );
  });
});

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
