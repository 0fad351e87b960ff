import { mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { SystemClock } from '#base/time/clock.js';
import { AgentClient } from './api/agent-client.js';
import { chooseRuntimeEndpoint, findRuntimeEndpoint } from './find-runtime-endpoint.js';

const NEVER = new AbortController().signal;
const clock = new SystemClock();

/** Somebody who listens at that path, until the end of the test. */
async function listenAt(path: string): Promise<AsyncDisposable> {
  await mkdir(dirname(path), { recursive: true });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it('is that of the agent, else a usual one, else the embedded one that an agent has left', async () => {
  await using fake = await FakeAgentServer.start();
  const folder = dirname(fake.socketPath);
  const [usual, left] = [join(folder, 'usual.sock'), join(folder, 'runtime/cri.sock')];
  const agent = new AgentClient({ socketPath: fake.socketPath, clock, signal: NEVER });
  const env = { XDG_RUNTIME_DIR: folder };
  const find = () => findRuntimeEndpoint({ agent, env, clock, usualSocketPaths: [usual] });
  {
    await using _usual = await listenAt(usual);
    await using _left = await listenAt(left);
    fake.on('GET /debug/pleg', () => ({ runtime: { endpoint: 'unix:///of/the/agent.sock' } }));
    expect(await find()).toBe('unix:///of/the/agent.sock');
    for (const answer of [{ kind: 'Status' }, { runtime: { endpoint: 'tcp://127.0.0.1:1' } }]) {
      fake.on('GET /debug/pleg', () => answer);
      expect(await find()).toBe(`unix://${usual}`);
    }
    await rm(usual);
    expect(await find()).toBe(`unix://${left}`);
  }
  await rm(left, { force: true });
  await using _own = await listenAt(join(folder, 'podloop/cri.sock'));
  expect(await find()).toBe(`unix://${join(folder, 'podloop/cri.sock')}`);
});

it('is not waited for at an agent that does not answer', async () => {
  await using fake = await FakeAgentServer.start();
  const left = join(dirname(fake.socketPath), 'runtime/cri.sock');
  await using _left = await listenAt(left);
  fake.on('GET /debug/pleg', (_, answer) => void answer.write('{'));
  const agent = new AgentClient({ socketPath: fake.socketPath, clock, signal: NEVER });
  const found = await findRuntimeEndpoint({ agent, env: {}, clock, limitMs: 50, usualSocketPaths: [] });
  expect(found).toBe(`unix://${left}`);
});

it('is the one of the flag before all, and no agent is asked', async () => {
  await using fake = await FakeAgentServer.start();
  fake.on('GET /debug/pleg', () => ({ runtime: { endpoint: 'unix:///of/the/agent.sock' } }));
  const host = { env: { PODLOOP_SOCKET: fake.socketPath }, clock };
  expect(await chooseRuntimeEndpoint('unix:///named.sock', host, NEVER)).toBe('unix:///named.sock');
  expect(fake.requests).toEqual([]);
  expect(await chooseRuntimeEndpoint(undefined, host, NEVER)).toBe('unix:///of/the/agent.sock');
});
