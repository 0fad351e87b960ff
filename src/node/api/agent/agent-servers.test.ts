import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiRouter } from '../http/api-router.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { AgentServers, type AgentServersOptions } from './agent-servers.js';
import { resolveAgentOptions } from '../../options/resolve-agent-options.js';

/** On a loaded machine, too. */
const SOON = { timeout: 20_000 };

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const WELL = [{ name: 'ping', findProblem: () => undefined }];

async function start(
  given: Parameters<typeof resolveAgentOptions>[0],
  more: Partial<AgentServersOptions> = {},
) {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const servers = await AgentServers.start({
    ...{ clock, logger, nodeNames: () => ['node-1'], options: resolveAgentOptions(given) },
    ...{ router: new ApiRouter(), rootDir: '/nowhere' },
    checks: { healthz: WELL, livez: WELL, readyz: WELL },
    pages: new Map([
      ['/metrics', () => ({ kind: 'text', body: 'up 1\n' })],
      ['/debug/pleg', () => ({ kind: 'text', body: '{}' })],
    ]),
    ...more,
  });
  open.push(servers);
  return { servers, clock, logger };
}

async function occupy(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  open.push({ close: () => server.close() });
  return server;
}

describe('the open ports of an agent', () => {
  it('serve health and metrics, and nothing else', async () => {
    const [readOnlyPort, healthzPort] = [await findFreePort(), await findFreePort()];
    await start({ readOnlyPort, healthzPort });
    for (const path of ['/healthz', '/healthz/ping', '/readyz', '/livez', '/metrics']) {
      expect((await askPort(readOnlyPort, path)).code, path).toBe(200);
    }
    for (const path of ['/debug/pleg', '/configz', '/pods', '/logs/', '/api/v1/pods', '/stats/summary']) {
      expect((await askPort(readOnlyPort, path)).code, path).toBe(404);
    }
    expect((await askPort(healthzPort, '/healthz')).code).toBe(200);
    expect((await askPort(healthzPort, '/metrics')).code).toBe(404);
  });

  it('take no name but their own', async () => {
    const readOnlyPort = await findFreePort();
    await start({ readOnlyPort });
    expect((await askPort(readOnlyPort, '/metrics', { headers: { Host: 'node-1' } })).code).toBe(403);
    const other = await findFreePort();
    await start({ readOnlyPort: other, address: '0.0.0.0' });
    expect((await askPort(other, '/metrics', { headers: { Host: 'node-1:1' } })).code).toBe(200);
    expect((await askPort(other, '/metrics', { headers: { Host: 'node-2:1' } })).code).toBe(403);
  });

  it('take the names that the node has now, not those of the start', async () => {
    const [readOnlyPort, healthzPort] = [await findFreePort(), await findFreePort()];
    const names = ['node-1'];
    const address = '0.0.0.0';
    await start(
      { readOnlyPort, healthzPort, address, healthzBindAddress: address },
      { nodeNames: () => names },
    );
    const codes = async (name: string): Promise<number[]> => {
      const headers = { Host: `${name}:1` };
      const answers = [readOnlyPort, healthzPort].map(async (port) => askPort(port, '/healthz', { headers }));
      return (await Promise.all(answers)).map(({ code }) => code);
    };
    expect(await codes('192.0.2.9')).toEqual([403, 403]);
    names.push('192.0.2.9');
    expect(await codes('192.0.2.9')).toEqual([200, 200]);
  });

  it('are none where none are wanted', async () => {
    const { logger } = await start({ readOnlyPort: 0 });
    await start({ enableServer: false });
    expect(logger.lines).toEqual([]);
  });

  it('are missed in a cluster, whose API server finds no agent without the one with TLS', async () => {
    const cluster = {
      authenticate: async () => Promise.resolve(undefined),
      authorize: async () => Promise.resolve(false),
    };
    for (const [flag, given] of [
      ['--port', { port: 0, readOnlyPort: 0 }],
      ['--enable-server', { port: 10_250, enableServer: false }],
    ] as const) {
      const { logger } = await start({ kubeconfig: '/k', ...given }, { cluster });
      expect(logger.complaints).toMatchObject([
        { level: 'warn', message: expect.stringContaining('kubectl logs') as string, fields: { flag } },
      ]);
    }
  });

  it('that were asked for and are taken are an error that names the flag and who has it', async () => {
    const port = await findFreePort();
    await occupy(port);
    const failure = {
      code: 'PORT_UNUSABLE',
      message: expect.stringContaining(`(process ${process.pid}) listens`) as string,
    };
    await expect(start({ readOnlyPort: port })).rejects.toMatchObject(failure);
    const free = await findFreePort();
    await expect(start({ readOnlyPort: free, healthzPort: port })).rejects.toMatchObject({
      message: expect.stringContaining(`--healthz-port: 127.0.0.1:${port} `) as string,
    });
    await expect(askPort(free, '/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(start({ readOnlyPort: free, address: '192.0.2.1' })).rejects.toThrow('not of this machine');
  });

  it('that nobody asked for are waited for until they are free', async () => {
    const port = await findFreePort();
    const holder = await occupy(port);
    const { servers, clock, logger } = await start({}, { usualPort: port });
    expect(logger.complaints).toMatchObject([{ level: 'warn', fields: { port, flag: '--read-only-port' } }]);
    const ending = new AbortController();
    const running = servers.run(ending.signal);
    await clock.advance(5_000);
    holder.close();
    await expect
      .poll(async () => {
        await clock.advance(60_000);
        return logger.lines.at(-1)?.message;
      }, SOON)
      .toBe('Starting to listen read-only');
    ending.abort();
    await running;
  });

  it('that nobody asked for stay on this machine, and make way for those that somebody did', async () => {
    const [port, usualPort] = [await findFreePort(), await findFreePort()];
    const { logger } = await start({ address: '0.0.0.0', readOnlyPort: port }, { usualPort });
    await start({ address: '0.0.0.0' }, { usualPort });
    expect(logger.lines.at(-1)?.fields).toEqual({ address: '0.0.0.0', port });
    const own = await askPort(usualPort, '/healthz');
    expect(own.code).toBe(200);
    await expect(askPort(usualPort, '/healthz', { host: '127.0.0.2' })).rejects.toThrow('ECONNREFUSED');
    expect((await askPort(port, '/healthz', { host: '127.0.0.2' })).code).toBe(200);
    const other = await findFreePort();
    const { logger: second } = await start({ healthzPort: other }, { usualPort: other });
    expect(second.lines.map(({ message }) => message)).toEqual(['Starting to listen for health checks']);
  });

  it('that nobody asked for are given up when it is not that others have them', async () => {
    const { servers, logger } = await start({}, { usualPort: 65_536 });
    expect(logger.complaints).toMatchObject([{ message: 'Usual port cannot be used' }]);
    await servers.run(new AbortController().signal);
  });
});
