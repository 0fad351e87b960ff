import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { Agent } from './agent.js';
import { type AgentOptions } from './options/agent-options.js';
import { resolveAgentOptions } from './options/resolve-agent-options.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'podloop-server-files-'))));
afterEach(async () => rm(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);

/** What an agent with these options says before it has made or started anything. */
async function failure(options: Partial<AgentOptions>): Promise<string> {
  const logger = new LogRecorder();
  const before = await readdir(folder);
  const all = resolveAgentOptions({
    ...{
      rootDir: at('root'),
      podManifestPath: folder,
      podLogsDir: at('logs'),
      port: 10_250,
      readOnlyPort: 0,
    },
    ...options,
  });
  const ports = {
    ...{ clock: new FakeClock(), logger, stdin: new PassThrough(), pid: process.pid },
    podloopCommand: ['/nosuch'] as const,
  };
  const start = Agent.start(all, ports, new AbortController().signal);
  const message = await start.then(
    async (agent) => {
      await agent[Symbol.asyncDispose]();
      return 'it has started';
    },
    (error: unknown) => (error as Error).message,
  );
  expect(await readdir(folder)).toEqual(before);
  expect(logger.lines).toEqual([]);
  return message;
}

const FILES = [
  ['--tls-cert-file', (file: string) => ({ tlsCertFile: file, tlsPrivateKeyFile: at('good') })],
  ['--tls-private-key-file', (file: string) => ({ tlsCertFile: at('good'), tlsPrivateKeyFile: file })],
  ['--client-ca-file', (file: string) => ({ clientCaFile: file })],
  ['--token-auth-file', (file: string) => ({ tokenAuthFile: file })],
] as const;

describe.each(FILES)(
  'an agent whose %s cannot be used says so before it makes anything',
  (flag, optionsOf) => {
    beforeEach(async () => writeFile(at('good'), 'x', { mode: 0o600 }));

    it.each([
      ['is missing', async () => Promise.resolve(), 'cannot be read: ENOENT'],
      ['is a folder', async () => mkdir(at('file')), 'is no file'],
      ['is a link to nothing', async () => symlink('/no/such/file', at('file')), 'cannot be read: ENOENT'],
      [
        'is too large',
        async () => writeFile(at('file'), 'x'.repeat(2 ** 20 + 1), { mode: 0o600 }),
        'has more than',
      ],
    ])('%s', async (_, prepare, why) => {
      await prepare();
      const message = await failure(optionsOf(at('file')));
      expect(message).toContain(`${flag}: ${at('file')} ${why}`);
    });
  },
);

it('refuses a file of tokens that others may read', async () => {
  await writeFile(at('file'), 'x');
  await chmod(at('file'), 0o644);
  expect(await failure({ tokenAuthFile: at('file') })).toContain(`chmod 600 ${at('file')}`);
});
