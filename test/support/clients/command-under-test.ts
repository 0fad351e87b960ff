import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type CliHost } from '../../../src/cli/cli-host.js';
import { LineOutput } from '../../../src/cli/line-output.js';
import { runProgram } from '../../../src/cli/program.js';
import { CriTestServer, type CriTestServerOptions } from './cri-test-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '../until-true.js';

/** How a {@link CommandUnderTest} is prepared. */
export interface CommandUnderTestOptions {
  /** Which command of podloop. */
  readonly command: string;
  /** Arguments of every run. */
  readonly args: (command: CommandUnderTest) => readonly string[];
  /** What it logs once it does its work. */
  readonly readyText: string;
  /** What the runtime answers that it stands in front of. */
  readonly handlers: NonNullable<CriTestServerOptions['handlers']>;
}

/** A command of podloop that stands in front of a runtime, in the test's own process, with a clock that stands still. */
export class CommandUnderTest implements AsyncDisposable {
  readonly clock = new FakeClock();
  /** Of its own; removed at the end. */
  readonly folder: string;
  stdout = '';
  stderr = '';
  /** Whether what it says of itself goes to a terminal. */
  isTerminal = false;
  /** As when it gets SIGUSR1. */
  userSignal: () => void = () => undefined;
  #exit: Promise<number> | undefined;
  readonly #options: CommandUnderTestOptions;
  readonly #server: CriTestServer;
  readonly #interrupt = new AbortController();

  private constructor(options: CommandUnderTestOptions, folder: string, server: CriTestServer) {
    this.#options = options;
    this.folder = folder;
    this.#server = server;
  }

  /** Starts the runtime; the command is started by {@link start}. */
  static async prepare(options: CommandUnderTestOptions): Promise<CommandUnderTest> {
    const folder = await mkdtemp(join(tmpdir(), `podloop-${options.command}-`));
    const server = await CriTestServer.start({ handlers: options.handlers });
    return new CommandUnderTest(options, folder, server);
  }

  /** `unix:///path` of the runtime. */
  get runtimeEndpoint(): string {
    return this.#server.endpoint;
  }

  /** A socket of the folder, for the command to listen at. */
  get socketPath(): string {
    return this.path('cri.sock');
  }

  /** A file of that name in the folder. */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Runs it and resolves once it does its work, or has ended. */
  async start(...flags: readonly string[]): Promise<void> {
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
    const { command, args, readyText } = this.#options;
    this.#exit = runProgram([command, ...args(this), ...flags], host);
    let ended = false;
    void this.#exit.then(() => (ended = true));
    await untilTrue(() => ended || this.stderr.includes(readyText));
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
