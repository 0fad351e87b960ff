import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.js';
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
