import { readlinkSync } from 'node:fs';
import { createServer, type Server, type AddressInfo, Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { spawn, type ChildProcess } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import {
  HELPER_IDLE_MS,
  isConnectionRefused,
  NamespaceConnector,
  type NamespaceHelper,
} from './namespace-connector.js';

const never = new AbortController().signal;
setMaxListeners(0, never);
const servers: Server[] = [];
const holders: ChildProcess[] = [];
const connectors: NamespaceConnector[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  for (const holder of holders.splice(0)) holder.kill('SIGKILL');
  await Promise.all(connectors.splice(0).map((connector) => connector.close()));
});

/** Answers only when the other side has said all: shows that each direction closes on its own. */
async function serve(host: string, greeting: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.write(greeting);
    let length = 0;
    client.on('data', (chunk: Buffer) => (length += chunk.length));
    client.on('end', () => client.end(`${length}`));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

function setUp({ maxHelpers = 8 } = {}) {
  const clock = new FakeClock();
  const connector = new NamespaceConnector({ clock, maxHelpers });
  connectors.push(connector);
  return { clock, connector };
}

// A namespace of somebody else takes root; that of this very process can be entered by its own pid as root only, too.
const isRoot = process.geteuid?.() === 0;
const ways: [string, number | undefined][] = [['in the host’s network', undefined]];
if (isRoot) ways.push(['in the namespace of a process', process.pid]);

describe.each(ways)('a connection %s', (_way, holderPid) => {
  it('loses nothing of a greeting and closes each direction on its own', async () => {
    const port = await serve('127.0.0.1', 'hello ');
    const socket = await setUp().connector.connect(holderPid, port, { signal: never });
    socket.end('x'.repeat(300_000));
    expect(await text(socket)).toBe('hello 300000');
  });

  it('goes to ::1 when nothing listens at 127.0.0.1', async () => {
    const port = await serve('::1', 'six ');
    const socket = await setUp().connector.connect(holderPid, port, { signal: never });
    socket.end();
    expect(await text(socket)).toBe('six 0');
  });

  it('fails as refused when nothing listens', async () => {
    const port = await serve('127.0.0.1', '');
    await new Promise((resolve) => servers.pop()!.close(resolve));
    const failure: unknown = await setUp()
      .connector.connect(holderPid, port, { signal: never })
      .catch((error: unknown) => error);
    expect(isConnectionRefused(failure)).toBe(true);
  });

  it('is given up with the reason of the signal', async () => {
    const port = await serve('127.0.0.1', '');
    const controller = new AbortController();
    const connection = setUp().connector.connect(holderPid, port, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(connection).rejects.toThrow('enough');
  });

  it.each([0, -1, 1.5, 65_536])('refuses %s as a port', async (port) => {
    await expect(setUp().connector.connect(holderPid, port, { signal: never })).rejects.toThrow('is no port');
  });
});

describe('a connection to a namespace that is gone', () => {
  it('is refused, but not as one to a port at which nothing listens', async () => {
    const failure: unknown = await setUp()
      .connector.connect(2 ** 22 + 1, 80, { signal: never })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ENETNS' });
    expect(isConnectionRefused(failure)).toBe(false);
  });
});

/** A process in a network namespace of its own, which has its loopback up. */
async function makeNamespace(): Promise<number> {
  const script = 'ip link set lo up && echo ready && exec sleep 600';
  const holder = spawn('unshare', ['--net', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  holders.push(holder);
  await once(holder.stdout, 'data');
  return holder.pid!;
}

async function exchange(socket: Duplex): Promise<string> {
  socket.end('abc');
  return text(socket);
}

describe.runIf(isRoot)('the helper of a namespace', () => {
  it('is one process for many connections at once', async () => {
    const { connector } = setUp();
    const ports = [await serve('127.0.0.1', 'four '), await serve('::1', 'six ')];
    const many = Array.from({ length: 100 }, async (_, at) =>
      exchange(await connector.connect(process.pid, ports[at % 2]!, { signal: never })),
    );
    const answers = await Promise.all(many);
    expect(connector.helperPids).toHaveLength(1);
    expect(answers.filter((each) => each === 'four 3')).toHaveLength(50);
    expect(answers.filter((each) => each === 'six 3')).toHaveLength(50);
  });

  it('ends when it was idle for long enough, and not before', async () => {
    const { clock, connector } = setUp();
    const port = await serve('127.0.0.1', '');
    const first = await connector.connect(process.pid, port, { signal: never });
    await clock.advance(HELPER_IDLE_MS - 1);
    await exchange(await connector.connect(process.pid, port, { signal: never }));
    await clock.advance(HELPER_IDLE_MS - 1);
    expect(connector.helperPids).toHaveLength(1);
    await clock.advance(1);
    expect(connector.helperPids).toEqual([]);
    // The helper has gone, the connection has not.
    expect(await exchange(first)).toBe('3');
  });

  it('is replaced when it has died', async () => {
    const { connector } = setUp();
    const port = await serve('127.0.0.1', 'hello ');
    await exchange(await connector.connect(process.pid, port, { signal: never }));
    const [pid] = connector.helperPids;
    process.kill(pid!, 'SIGKILL');
    // Whether its death is known by now or not.
    expect(await exchange(await connector.connect(process.pid, port, { signal: never }))).toBe('hello 3');
    expect(connector.helperPids).not.toEqual([pid]);
  });

  it('never leads into another namespace', async () => {
    const { connector } = setUp({ maxHelpers: 2 });
    const port = await serve('127.0.0.1', '');
    const pids = [await makeNamespace(), await makeNamespace(), process.pid];
    const names = pids.map((pid) => readlinkSync(`/proc/${pid}/ns/net`));
    expect(new Set(names).size).toBe(3);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...pids), { minLength: 1, maxLength: 6 }), async (wanted) => {
        const outcomes = await Promise.all(
          wanted.map((pid) =>
            connector
              .connect(pid, port, { signal: never })
              .then(exchange, (error: unknown) => isConnectionRefused(error)),
          ),
        );
        // Only the namespace of the server has a listener there.
        expect(outcomes).toEqual(wanted.map((pid) => (pid === process.pid ? '3' : true)));
        expect(connector.helperPids.length).toBeLessThanOrEqual(2);
      }),
      { numRuns: 8 },
    );
  });

  it('is not ended to make room when another one has died', async () => {
    const ended: string[] = [];
    const dead = new Set<string>();
    const startHelper = ({ namespace }: { namespace: string }): NamespaceHelper => ({
      ...{
        pid: undefined,
        ended: new Promise(() => undefined),
        connect: () => Promise.resolve(new Socket()),
      },
      get hasEnded() {
        return dead.has(namespace);
      },
      end: () => ended.push(namespace),
    });
    const pids = [await makeNamespace(), await makeNamespace(), await makeNamespace(), process.pid];
    const names = pids.map((pid) => readlinkSync(`/proc/${pid}/ns/net`));
    const connector = new NamespaceConnector({ clock: new FakeClock(), maxHelpers: 3, startHelper });
    for (const pid of pids.slice(0, 3)) await connector.connect(pid, 80, { signal: never });
    // Its end is known, and its process has not closed everything yet.
    dead.add(names[1]!);
    await connector.connect(pids[3], 80, { signal: never });
    expect(ended).toEqual([names[1]]);
  });

  it('ends with its connector, which makes no connection any more', async () => {
    const { connector } = setUp();
    const port = await serve('127.0.0.1', '');
    await exchange(await connector.connect(process.pid, port, { signal: never }));
    const [pid] = connector.helperPids;
    await connector.close();
    expect(() => process.kill(pid!, 0)).toThrow('ESRCH');
    await expect(connector.connect(process.pid, port, { signal: never })).rejects.toThrow('the runtime ends');
  });
});
