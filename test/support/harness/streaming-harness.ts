import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { PassThrough, type Duplex } from 'node:stream';
import { type ContainerConsole } from '../../../src/box/isolation/container-process.js';
import { spawnProcess } from '../../../src/box/process/spawn-process.js';
import { type StreamRequest } from '../../../src/box/streaming/stream-request.js';
import { StreamingServer, type StreamingServerOptions } from '../../../src/box/streaming/streaming-server.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ChannelClient } from '../clients/channel-client.js';

const STEADY_LOOKS = 5;

/** A container to attach to that a test plays. */
export interface PlayedContainer extends ContainerConsole {
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  readonly sizes: (readonly [number, number])[];
  closed: boolean;
  end(): void;
}

/** A streaming server whose containers are processes of this host, and whose pods have the host's ports. */
export class StreamingHarness implements AsyncDisposable {
  readonly server: StreamingServer;
  readonly clock = new SystemClock();
  readonly container: PlayedContainer;

  private constructor(server: StreamingServer, container: PlayedContainer) {
    this.server = server;
    this.container = container;
  }

  static async start(options: Partial<StreamingServerOptions> = {}): Promise<StreamingHarness> {
    const clock = new SystemClock();
    const container = playContainer();
    const server = await StreamingServer.start({
      clock,
      logger: SILENT_LOGGER,
      ports: {
        openProcess: (_id, request) =>
          spawnProcess({
            ...request,
            environment: { PATH: '/usr/bin:/bin' },
            workingDir: '/',
            pipesFolder: tmpdir(),
            clock,
          }),
        openConsole: async (id) => {
          if (id === 'gone') throw new Error('container is not running');
          return container;
        },
        connectPort: (_id, port, { onAsked }) => {
          onAsked();
          return connectHere(port);
        },
      },
      ...options,
    });
    return new StreamingHarness(server, container);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }

  /** Serves somebody else, from the grant to the end of the command; returns the code of the close. */
  async serveOther(): Promise<number> {
    return (await ChannelClient.open(this.server.grant(execRequest('true')), 'v5.channel.k8s.io')).closed;
  }

  /**
   * Resolves once a number stays the same while others are served, several times over: what flowed has come to a
   * halt.
   */
  async untilSteady(read: () => number): Promise<void> {
    let before = NaN;
    for (let same = 0; same < STEADY_LOOKS;) {
      await this.serveOther();
      const now = read();
      same = now === before ? same + 1 : 0;
      before = now;
    }
  }

  /** Resolves once no session is open any more. */
  idle(): Promise<void> {
    return this.untilSessions(0);
  }

  /** Resolves once no more than that many sessions are open. */
  async untilSessions(count: number): Promise<void> {
    while (this.server.sessionCount > count) await this.clock.sleep(5);
  }
}

/** A request to run shell text (default: stdout and stderr are wanted). */
export function execRequest(
  shell: string,
  streams: Partial<StreamRequest & { kind: 'exec' }> = {},
): StreamRequest & { kind: 'exec' } {
  const wanted = { tty: false, stdin: false, stdout: true, stderr: streams.tty !== true, ...streams };
  return { kind: 'exec', containerId: 'c', argv: ['sh', '-c', shell], ...wanted };
}

function playContainer(): PlayedContainer {
  const sizes: (readonly [number, number])[] = [];
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return {
    stdin,
    stdout,
    stderr,
    sizes,
    closed: false,
    resize: (columns, rows) => {
      sizes.push([columns, rows]);
      return Promise.resolve();
    },
    ended,
    end: () => {
      stdout.end();
      stderr.end();
      end();
    },
    close() {
      this.closed = true;
    },
  };
}

function connectHere(port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
