import { PassThrough } from 'node:stream';
import { type CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { webCommand } from './web.js';

/** What is said to a command line that is refused. */
async function refusalOf(...args: string[]): Promise<string> {
  const output = (): LineOutput => new LineOutput(new PassThrough());
  const host: CliHost = {
    ...{ env: {}, pid: 1, clock: new FakeClock(), selfCommand: ['podloop'] },
    ...{ stdin: new PassThrough(), stdout: output(), stderr: output() },
    listenForInterrupts: () => new AbortController().signal,
    onUserSignal: () => () => undefined,
  };
  const command = webCommand(host)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return await command.parseAsync(args, { from: 'user' }).then(
    () => 'it was taken',
    (error: unknown) => (error as CommanderError).message,
  );
}

describe('the agent of a page', () => {
  it('runs pods where the page may change something', async () => {
    await using observer = await FakeAgentServer.start();
    observer.on('GET /version', () => ({ gitVersion: 'podloop v9' }));
    expect(await refusalOf('--write', '--socket', observer.socketPath)).toContain(
      'an observer only watches them',
    );
  });

  it.each([
    'http://node1:10250',
    'node1:10250',
    'https://',
    'https://node1:10250/api',
    'https://node1:10250/?a=1',
    'https://node1:10250/#key',
    'https://ops@node1:10250',
    'https://ops:t0ken@node1:10250',
  ])('is not at %s', async (url) => {
    expect(await refusalOf('--server', url)).toContain('use https://HOST:PORT; who asks is said with');
  });

  it.each(['https://127.0.0.1:1', 'https://127.0.0.1:1/', 'https://[::1]:1'])('may be at %s', async (url) => {
    expect(await refusalOf('--server', url)).toMatch(/cannot reach the agent at https:/);
  });

  it.each([
    ['--socket', '/run/podloop.sock'],
    ['--root-dir', '/var/lib/podloop'],
  ])('is here or elsewhere: %s', async (...flag) => {
    expect(await refusalOf('--server', 'https://node1:10250', ...flag)).toMatch(
      /'--server <url>' cannot be used with option '--(socket|root-dir)/,
    );
  });

  it.each(['--token-file', '--client-certificate', '--client-key', '--certificate-authority'])(
    'is not asked with %s without --server',
    async (flag) => {
      expect(await refusalOf(flag, '/nowhere')).toBe(
        `error: ${flag} is for an agent on another machine: name that with --server, too`,
      );
    },
  );
});
