import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../cri/client.js';
import {
  ListContainersResponse,
  ListPodSandboxResponse,
  VersionResponse,
} from '../cri/generated/runtime/v1/cri.js';
import { CriTestServer } from '../testing/cri-test-server.js';
import { FakeClock } from '../testing/fake-clock.js';
import { readRecording } from '../testing/record-harness.js';
import { untilTrue } from '../testing/until-true.js';
import { type CliHost } from './cli-host.js';
import { LineOutput } from './line-output.js';
import { runProgram } from './program.js';

/** `podloop record` in front of a runtime without pods, in the test's own process. */
class RecordCommand implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly folder: string;
  readonly file: string;
  stdout = '';
  stderr = '';
  userSignal: () => void = () => undefined;
  isTerminal = false;
  #exit: Promise<number> | undefined;
  readonly #server: CriTestServer;
  readonly #interrupt = new AbortController();

  private constructor(folder: string, server: CriTestServer) {
    this.folder = folder;
    this.file = join(folder, 'node.plrec');
    this.#server = server;
  }

  static async prepare(): Promise<RecordCommand> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-record-'));
    const version = { runtimeName: 'test', runtimeVersion: '1', runtimeApiVersion: 'v1', version: '0.1.0' };
    const server = await CriTestServer.start({
      handlers: {
        version: (_call, reply) => reply(null, VersionResponse.fromPartial(version)),
        listPodSandbox: (_call, reply) => reply(null, ListPodSandboxResponse.fromPartial({})),
        listContainers: (_call, reply) => reply(null, ListContainersResponse.fromPartial({})),
      },
    });
    return new RecordCommand(folder, server);
  }

  get socketPath(): string {
    return join(this.folder, 'record.sock');
  }

  /** Runs it and resolves once it records, or has ended. */
  async start(...flags: string[]): Promise<void> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    Object.assign(stderr, { isTTY: this.isTerminal });
    stdout.on('data', (chunk) => (this.stdout += String(chunk)));
    stderr.on('data', (chunk) => (this.stderr += String(chunk)));
    const host: CliHost = {
      ...{ env: {}, pid: 1, clock: this.clock, selfCommand: ['podloop'] },
      ...{ stdin: new PassThrough(), stdout: new LineOutput(stdout), stderr: new LineOutput(stderr) },
      listenForInterrupts: () => this.#interrupt.signal,
      onUserSignal: (listener) => {
        this.userSignal = listener;
        return () => undefined;
      },
    };
    const args = ['record', '--runtime-endpoint', this.#server.endpoint, '-f', this.file, ...flags];
    this.#exit = runProgram(args, host);
    let ended = false;
    void this.#exit.then(() => (ended = true));
    await untilTrue(() => ended || this.stderr.includes('Recording'));
  }

  /** Ends it as Ctrl-C does; its exit code. */
  async end(): Promise<number | undefined> {
    this.#interrupt.abort();
    return this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#server[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

describe('podloop record', () => {
  it('stands in front of a runtime, counts what passes, and leaves the file alone', async () => {
    await using command = await RecordCommand.prepare();
    await command.start('--listen', `unix://${command.socketPath}`);
    expect(command.stderr).toMatch(
      /"Recording" file=".*node.plrec" upstream="unix:.*" mode="relay" endpoint=/,
    );
    const client = new CriClient({ endpoint: `unix://${command.socketPath}` });
    expect((await client.version()).runtimeName).toBe('test');
    const counts = /node\.plrec: 1 calls \(0 open\), 1 messages, 0 values taken out, 0\.\d KiB\n/;
    command.userSignal();
    await untilTrue(() => counts.test(command.stdout));
    client.close();
    command.stdout = '';
    expect(await command.end()).toBe(0);
    expect(command.stdout).toMatch(counts);
    await expect(stat(command.socketPath)).rejects.toThrow('ENOENT');
    const frames = await readRecording(command.file);
    expect(frames[0]).toMatchObject({ mode: 'relay', rules: { keepCommands: false, keepOutput: false } });
    expect(frames.at(-1)).toMatchObject({ kind: 'close', reason: 'stopped' });
  });

  it('asks by itself without a socket to listen at, and opens no stream of events', async () => {
    await using command = await RecordCommand.prepare();
    await command.start('-o', 'json', '--keep-commands', '--keep-annotations', 'a/*');
    expect(command.stderr).toContain('mode="observe"\n');
    const countLists = async (): Promise<number> => {
      command.stdout = '';
      command.userSignal();
      await untilTrue(() => command.stdout.endsWith('\n'));
      return (JSON.parse(command.stdout) as { calls: number }).calls;
    };
    while ((await countLists()) < 7) await command.clock.advance(1_000);
    command.stdout = '';
    expect(await command.end()).toBe(0);
    expect(JSON.parse(command.stdout)).toMatchObject({ file: command.file, lost: 0, open: 0, files: 1 });
    const frames = await readRecording(command.file);
    expect(frames[0]).toMatchObject({
      mode: 'observe',
      rules: { keepAnnotations: ['a/*'], keepCommands: true },
    });
    const methods = frames.flatMap((frame) => (frame.kind === 'begin' ? [frame.known!.name] : []));
    expect(methods).toEqual(expect.arrayContaining(['Version', 'ListPodSandbox', 'ListContainers']));
    expect(methods).not.toContain('GetContainerEvents');
  });

  it('does not replace a file unless it is told to', async () => {
    await using command = await RecordCommand.prepare();
    await writeFile(command.file, 'precious');
    await command.start();
    expect(await command.end()).toBe(1);
    expect(command.stderr).toMatch(
      /^error: the recording .*node\.plrec exists already: .* --force to replace it\n$/,
    );
    expect(await readFile(command.file, 'utf8')).toBe('precious');
    await using forced = await RecordCommand.prepare();
    await writeFile(forced.file, 'worthless');
    await forced.start('--force', '--listen', `unix://${forced.socketPath}`);
    expect(await forced.end()).toBe(0);
    expect((await readRecording(forced.file))[0]!.kind).toBe('meta');
  });

  it('keeps a line of progress on a terminal, and takes it away at the end', async () => {
    await using command = await RecordCommand.prepare();
    command.isTerminal = true;
    await command.start('--listen', `unix://${command.socketPath}`);
    const line = /\r\u001b\[K[1-9]\d*s: 0 calls, 0 open, 0\.\d KiB/;
    // Again and again: the first line may just be about to be written when the time passes.
    for (let seconds = 0; seconds < 100 && !line.test(command.stderr); seconds++) {
      await command.clock.advance(1_000);
    }
    expect(command.stderr).toMatch(line);
    expect(await command.end()).toBe(0);
    expect(command.stderr.endsWith('\r\u001b[K')).toBe(true);
  });

  it('refuses sizes in which nothing fits', async () => {
    await using command = await RecordCommand.prepare();
    await command.start('--max-size', '10Ki');
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(
      'invalid argument "10Ki" for "--max-size" flag: use a size of at least 1Mi',
    );
  });
});
