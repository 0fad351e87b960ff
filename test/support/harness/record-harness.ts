import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RecordedFrame, RecordingFile, RecordProxy, type RecordProxyOptions } from '#proxy/record';
import { CriClient } from '#watch';
import { type LogRecorder } from '../fakes/log-recorder.js';
import { CriTestServer, type CriTestServerOptions } from '../clients/cri-test-server.js';
import { FakeClock } from '#testing/fake-clock.js';

/** Options of a {@link RecordHarness} besides the runtime's answers. */
export type RecordHarnessOptions = Partial<Omit<RecordProxyOptions, 'upstream' | 'listen' | 'clock'>> & {
  readonly logger?: LogRecorder;
};

/** A runtime whose answers a test writes, a recorder in front of it with a clock that stands still, and a client. */
export class RecordHarness implements AsyncDisposable {
  readonly proxy: RecordProxy;
  readonly client: CriClient;
  readonly clock: FakeClock;
  readonly server: CriTestServer;
  readonly file: string;
  readonly #folder: string;

  private constructor(parts: {
    proxy: RecordProxy;
    clock: FakeClock;
    server: CriTestServer;
    file: string;
    folder: string;
  }) {
    this.proxy = parts.proxy;
    this.clock = parts.clock;
    this.server = parts.server;
    this.file = parts.file;
    this.#folder = parts.folder;
    this.client = new CriClient({ endpoint: parts.proxy.endpoint });
  }

  static async start(
    runtime: CriTestServerOptions,
    options: RecordHarnessOptions = {},
  ): Promise<RecordHarness> {
    const server = await CriTestServer.start(runtime);
    const folder = await mkdtemp(join(tmpdir(), 'podloop-record-'));
    const clock = new FakeClock();
    const file = options.file ?? join(folder, 'test.plrec');
    try {
      const proxy = await RecordProxy.start({
        ...options,
        ...{ upstream: server.endpoint, listen: `unix://${join(folder, 'record.sock')}`, file, clock },
      });
      return new RecordHarness({ proxy, clock, server, file, folder });
    } catch (error) {
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
      throw error;
    }
  }

  /** Ends the recording and gives what is in it. */
  async finish(): Promise<RecordedFrame[]> {
    await this.proxy.close();
    return readRecording(this.file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.proxy.close();
    await this.server[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Every frame of a recording. */
export async function readRecording(path: string): Promise<RecordedFrame[]> {
  await using file = await RecordingFile.open(path);
  const frames: RecordedFrame[] = [];
  for await (const block of file.readFrames()) frames.push(...block);
  return frames;
}
