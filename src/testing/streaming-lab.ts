import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { PassThrough, type Duplex } from 'node:stream';
import { type ContainerConsole } from '../embedded/isolation/container-process.js';
import { spawnProcess } from '../embedded/process/spawn-process.js';
import { type StreamRequest } from '../embedded/streaming/stream-request.js';
import { StreamingServer, type StreamingServerOptions } from '../embedded/streaming/streaming-server.js';
import { SystemClock } from '../util/clock.js';
import { SILENT_LOGGER } from '../util/logger.js';

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
export class StreamingLab implements AsyncDisposable {
  readonly server: StreamingServer;
  readonly clock = new SystemClock();
  readonly container: PlayedContainer;

  private constructor(server: StreamingServer, container: PlayedContainer) {
    this.server = server;
    this.container = container;
  }

  static async start(options: Partial<StreamingServerOptions> = {}): Promise<StreamingLab> {
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
        connectPort: (_id, port) => connectHere(port),
      },
      ...options,
    });
    return new StreamingLab(server, container);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }

  /** Resolves once no session is open any more. */
  async idle(): Promise<void> {
    while (this.server.sessionCount > 0) await this.clock.sleep(5);
  }
}

/** A request to run shell text; stdout and stderr are wanted unless told. */
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
