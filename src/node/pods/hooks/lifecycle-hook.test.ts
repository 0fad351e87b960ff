import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LifecycleHandler } from '#kube/container/container.js';
import { FakeRuntimeChanges } from '#support/fakes/fake-runtime-changes.js';
import { FakeClock } from '#testing/index.js';
import { hookSleepCutShort } from '#base/channels/hook-channels.js';
import { LifecycleHooks } from './lifecycle-hook.js';

const NEVER = new AbortController().signal;
let clock: FakeClock;
let runtime: FakeRuntimeChanges;
let hooks: LifecycleHooks;
/** What looks at the pod find, one after the other; nothing once it is empty. */
let hosts: (string | Error)[];
beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntimeChanges({ clock });
  hosts = [];
  hooks = new LifecycleHooks({
    ...{ changes: runtime, clock },
    findHost: async () => {
      const found = hosts.shift() ?? '';
      return typeof found === 'string' ? found : Promise.reject(found);
    },
  });
});

function run(
  handler: LifecycleHandler,
  host = '127.0.0.1',
  signal = NEVER,
  port = 0,
): Promise<string | undefined> {
  const pod = { uid: 'u1', namespace: 'default', name: 'web' };
  const ports = port === 0 ? [] : [{ name: 'http', containerPort: port }];
  const call = { pod, containerId: 'c1', containerName: 'app', handler, ports, host, timeoutSeconds: 9 };
  return hooks.run(call, signal);
}

describe('a command as a hook', () => {
  it('succeeds with exit code 0', async () => {
    expect(await run({ exec: { command: ['a', 'b'] } })).toBeUndefined();
    expect(runtime.calls).toEqual(['execSync c1 a b 9']);
  });

  it('fails with any other, and says what it printed', async () => {
    runtime.commands.set('a b', { exitCode: 3, stdout: Buffer.from('out'), stderr: Buffer.from('"err"') });
    expect(await run({ exec: { command: ['a', 'b'] } })).toBe(
      'Exec lifecycle hook (["a","b"]) for Container "app" in Pod "default/web" failed - error: ' +
        'command \'a b\' exited with 3: , message: "out\\"err\\""',
    );
  });

  it('fails when it cannot be run', async () => {
    runtime.gate('execSync').fail(new Error('no shell'));
    expect(await run({ exec: { command: ['a'] } })).toMatch(/failed - error: no shell$/);
  });
});

describe('a request as a hook', () => {
  let server: Server;
  let port: number;
  let seen: IncomingMessage | undefined;
  beforeEach(async () => {
    seen = undefined;
    server = createServer((request, response) => {
      seen = request;
      response.writeHead(500).write('never ends');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('succeeds with any answer, as the kubelet’s do', async () => {
    const httpHeaders = [
      { name: 'X-A', value: '1' },
      { name: 'x-a', value: '2' },
    ];
    expect(await run({ httpGet: { port, path: '/stop?now', httpHeaders } })).toBeUndefined();
    expect(seen?.url).toBe('/stop?now');
    expect(seen?.headers['x-a']).toBe('1, 2');
  });

  it('asks for a path as a probe does: without a slash in front of it, with spaces', async () => {
    expect(await run({ httpGet: { port, path: 'stop it' } })).toBeUndefined();
    expect(seen?.url).toBe('/stop%20it');
  });

  it('follows redirects on the host, and no others', async () => {
    const asked: string[] = [];
    server.removeAllListeners('request');
    server.on('request', ({ url = '' }: IncomingMessage, response: ServerResponse) => {
      asked.push(url);
      const locations: Record<string, string> = {
        '/stop': '/stop/',
        '/stop/': 'http://192.0.2.1/',
        '/a': '/a',
      };
      response.writeHead(302, { location: locations[url] }).end();
    });
    expect(await run({ httpGet: { port, path: '/stop' } })).toBeUndefined();
    expect(asked).toEqual(['/stop', '/stop/']);
    expect(await run({ httpGet: { port, path: '/a' } })).toMatch(
      /failed - error: stopped after 10 redirects$/,
    );
    expect(asked).toHaveLength(12);
  });

  it('finds a port by its name', async () => {
    expect(await run({ httpGet: { port: 'http' } }, '127.0.0.1', NEVER, port)).toBeUndefined();
    expect(await run({ httpGet: { port: 'nope' } })).toMatch(/the container has no port named "nope"$/);
  });

  it('waits a little for the address of the pod', async () => {
    hosts = ['', new Error('the runtime is busy'), '127.0.0.1'];
    const answered = run({ httpGet: { port } }, '');
    await clock.advance(2_000);
    expect(await answered).toBeUndefined();
    expect(hosts).toEqual([]);
  });

  it('fails when the pod has no address for long, or nobody can look', async () => {
    const answered = run({ httpGet: { port } }, '');
    await clock.advance(10_000);
    expect(await answered).toMatch(/the pod has no address$/);
    hosts = Array.from({ length: 9 }, () => new Error('the runtime is gone'));
    const again = run({ httpGet: { port } }, '');
    await clock.advance(10_000);
    expect(await again).toMatch(/the runtime is gone$/);
  });

  it('looks for no address where it names a host itself', async () => {
    hosts = ['203.0.113.1'];
    expect(await run({ httpGet: { port, host: '127.0.0.1' } }, '')).toBeUndefined();
    expect(hosts).toEqual(['203.0.113.1']);
  });

  it('fails without a server', async () => {
    server.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.once('close', resolve));
    expect(await run({ httpGet: { port, host: '127.0.0.1' } }, '')).toMatch(/ECONNREFUSED/);
  });

  it('is given up with its signal', async () => {
    const stop = new AbortController();
    server.removeAllListeners('request');
    const answered = run({ httpGet: { port } }, '127.0.0.1', stop.signal);
    await new Promise((resolve) => server.once('request', resolve));
    stop.abort(new Error('killed'));
    await expect(answered).rejects.toThrow('killed');
  });
});

it('pauses where a hook is a pause', async () => {
  const paused = run({ sleep: { seconds: 5 } });
  await clock.advance(4_999);
  expect(clock.pendingTimers).toBe(1);
  await clock.advance(1);
  expect(await paused).toBeUndefined();
});

it('reports a pause that is cut short, and no other', async () => {
  const told: string[] = [];
  const leave = hookSleepCutShort.subscribe(({ podUid }) => told.push(podUid));
  const stop = new AbortController();
  const paused = run({ sleep: { seconds: 5 } }, '', stop.signal);
  const whole = run({ sleep: { seconds: 1 } });
  await clock.advance(1_000);
  await whole;
  stop.abort(new Error('killed'));
  await expect(paused).rejects.toThrow('killed');
  leave();
  expect(told).toHaveLength(1);
});

it('fails a hook of a kind that Kubernetes does not run', async () => {
  expect(await run({ tcpSocket: { port: 1 } })).toMatch(/invalid handler$/);
});
