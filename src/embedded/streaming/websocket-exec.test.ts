import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { SystemClock } from '../../util/clock.js';
import { SILENT_LOGGER } from '../../util/logger.js';
import { spawnProcess } from './spawn-process.js';
import { type StreamRequest } from './stream-request.js';
import { type StreamingPorts } from './streaming-ports.js';
import { StreamingServer } from './streaming-server.js';

const clock = new SystemClock();

/** Runs every exec as a process of this host. */
const ports: StreamingPorts = {
  openProcess: (_id, request) =>
    spawnProcess({ ...request, environment: { PATH: '/usr/bin:/bin' }, workingDir: '/', clock }),
  openConsole: () => Promise.reject(new Error('no container here')),
  connectPort: () => Promise.reject(new Error('no sandbox here')),
};

let server: StreamingServer;

beforeEach(async () => {
  server = await StreamingServer.start({ ports, clock, logger: SILENT_LOGGER });
});

afterEach(async () => {
  await server.close();
});

function exec(shell: string, streams: Partial<StreamRequest & { kind: 'exec' }> = {}): StreamRequest {
  const argv = ['sh', '-c', shell];
  const wanted = { tty: false, stdin: false, stdout: true, stderr: true, ...streams };
  return { kind: 'exec', containerId: 'c', argv, ...wanted };
}

/** A client of the channel protocols that keeps what it gets. */
class Client {
  readonly socket: WebSocket;
  readonly channels = ['', '', '', '', ''];
  readonly closed: Promise<number>;
  readonly #seen: (() => void)[] = [];

  constructor(request: StreamRequest, protocol: string | string[] = 'v5.channel.k8s.io') {
    this.socket = new WebSocket(server.grant(request).replace('http', 'ws'), protocol);
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => resolve(code)));
    this.socket.on('error', () => undefined);
    this.socket.on('message', (data: Buffer) => {
      this.channels[data[0]!]! += data.subarray(1).toString();
      for (const seen of this.#seen) seen();
    });
  }

  async open(): Promise<this> {
    await new Promise((resolve, reject) => this.socket.once('open', resolve).once('error', reject));
    return this;
  }

  send(channel: number, text: string): void {
    this.socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));
  }

  endInput(): void {
    this.socket.send(Buffer.of(255, 0));
  }

  see(channel: number, text: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (text.test(this.channels[channel]!)) resolve();
      };
      this.#seen.push(look);
      look();
    });
  }

  get status(): unknown {
    return JSON.parse(this.channels[3]!) as unknown;
  }
}

describe('exec through a WebSocket', () => {
  it('gives both outputs, the exit code and a normal close', async () => {
    const client = await new Client(exec('echo out; echo err >&2; exit 3')).open();
    expect(await client.closed).toBe(1000);
    expect(client.channels.slice(1, 3)).toEqual(['out\n', 'err\n']);
    expect(client.status).toMatchObject({ details: { causes: [{ reason: 'ExitCode', message: '3' }] } });
  });

  it('passes input on and its end too', async () => {
    const client = await new Client(exec('cat; echo done', { stdin: true })).open();
    client.send(0, 'hello\n');
    client.endInput();
    expect(await client.closed).toBe(1000);
    expect(client.channels[1]).toBe('hello\ndone\n');
    expect(client.status).toMatchObject({ status: 'Success' });
  });

  it('carries much output through a client at its own pace', async () => {
    const client = await new Client(exec('head -c 20000000 /dev/zero')).open();
    client.socket.pause();
    await clock.sleep(300);
    client.socket.resume();
    await client.closed;
    expect(client.channels[1]).toHaveLength(20_000_000);
  });

  it('gives a command a terminal of the size that the client says', async () => {
    const client = await new Client(
      exec('read x; stty size; tty; exit 5', { tty: true, stdin: true }),
    ).open();
    client.send(4, '{"Width":123,"Height":45}');
    // The size is set from outside: asked until it is there.
    await clock.sleep(500);
    client.send(0, 'go\n');
    await client.closed;
    expect(client.channels[1]).toMatch(/^go\r\n45 123\r\n\/dev\/pts\/\d+\r\n$/);
    expect(client.status).toMatchObject({ details: { causes: [{ message: '5' }] } });
  });

  it('kills the command when the client leaves', async () => {
    const client = await new Client(exec('echo $$; exec sleep 1000')).open();
    await client.see(1, /\n/);
    const pid = Number(client.channels[1]);
    client.socket.terminate();
    await client.closed;
    while (server.sessionCount > 0) await clock.sleep(5);
    expect(() => process.kill(pid, 0)).toThrow();
  });

  it('says why a command cannot be run', async () => {
    const client = await new Client({ ...exec(''), argv: ['/no/such/program'] } as StreamRequest).open();
    await client.closed;
    expect(client.status).toMatchObject({ status: 'Failure', reason: 'InternalError' });
  });
});
