import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../cri/client.js';
import { VersionResponse } from '../cri/generated/runtime/v1/cri.js';
import { CriTestServer } from '../testing/cri-test-server.js';
import { FakeClock } from '../testing/fake-clock.js';
import { untilTrue } from '../testing/relay-harness.js';
import { type CliHost } from './cli-host.js';
import { LineOutput } from './line-output.js';
import { runProgram } from './program.js';

const FAILS = 'rules:\n  - {name: fails, match: {methods: [Version]}, fault: {type: error}}\n';

/** `podloop chaos` in front of a runtime, in the test's own process. */
class ChaosCommand implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly folder: string;
  readonly client: CriClient;
  stdout = '';
  stderr = '';
  userSignal: () => void = () => undefined;
  #exit: Promise<number> | undefined;
  readonly #server: CriTestServer;
  readonly #interrupt = new AbortController();

  private constructor(folder: string, server: CriTestServer) {
    this.folder = folder;
    this.#server = server;
    this.client = new CriClient({ endpoint: `unix://${this.socketPath}` });
  }

  static async prepare(): Promise<ChaosCommand> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-chaos-'));
    const server = await CriTestServer.start({
      handlers: {
        version: (_call, reply) => reply(null, VersionResponse.fromPartial({ runtimeName: 'test' })),
      },
    });
    return new ChaosCommand(folder, server);
  }

  get socketPath(): string {
    return join(this.folder, 'chaos.sock');
  }

  get rulesPath(): string {
    return join(this.folder, 'rules.yaml');
  }

  /** Runs it and resolves once it listens, or has ended. */
  async start(...flags: string[]): Promise<void> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
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
    const args = ['--upstream', this.#server.endpoint, '--listen', `unix://${this.socketPath}`];
    this.#exit = runProgram(['chaos', ...args, '--rules', this.rulesPath, ...flags], host);
    let ended = false;
    void this.#exit.then(() => (ended = true));
    await untilTrue(() => ended || this.stderr.includes('Listening'));
  }

  /** Ends it as Ctrl-C does; its exit code. */
  async end(): Promise<number | undefined> {
    this.#interrupt.abort();
    return this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.end();
    await this.#server[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

describe('podloop chaos', () => {
  it('injects what the rules say, counts it, and leaves nothing behind', async () => {
    await using command = await ChaosCommand.prepare();
    await writeFile(command.rulesPath, FAILS);
    await command.start('--seed', '5', '-v', '1');
    expect(command.stderr).toMatch(/"Listening" endpoint="unix:.*" upstream="unix:.*" rules=1 seed=5/);
    expect((await stat(command.socketPath)).mode & 0o777).toBe(0o600);
    await expect(command.client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect(command.stderr).toMatch(/"Fault injected" rule="fails" fault="error" method="Version"/);
    command.userSignal();
    const table = 'RULE    FAULT   METHOD    INJECTED\nfails   error   Version   1\n';
    await untilTrue(() => command.stdout === table);
    expect(await command.end()).toBe(0);
    expect(command.stdout).toBe(table + table);
    await expect(stat(command.socketPath)).rejects.toThrow('ENOENT');
  });

  it('prints each fault as one line of JSON when told', async () => {
    await using command = await ChaosCommand.prepare();
    await writeFile(command.rulesPath, FAILS);
    await command.start('-o', 'json');
    await expect(command.client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect(await command.end()).toBe(0);
    const lines = command.stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        ...{ time: '2026-01-02T03:04:05.000Z', rule: 'fails', fault: 'error', method: 'Version' },
        detail: 'injected by podloop chaos',
      },
      { injected: [{ rule: 'fails', fault: 'error', method: 'Version', count: 1 }] },
    ]);
  });

  it('reads the rules again when they change, and keeps those it has when they are wrong or gone', async () => {
    await using command = await ChaosCommand.prepare();
    await writeFile(command.rulesPath, 'rules: []\n');
    await command.start();
    const looked = async (until: RegExp): Promise<void> => {
      while (!until.test(command.stderr)) await command.clock.advance(500);
    };
    expect((await command.client.version()).runtimeName).toBe('test');
    await writeFile(command.rulesPath, FAILS);
    await looked(/"Rules read again" file=".*rules.yaml" rules=1/);
    await expect(command.client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });

    await writeFile(command.rulesPath, FAILS.replace('methods', 'method'));
    await looked(
      /"Rules file cannot be used, the rules from before stay in force" err=".*rules.yaml:2: rules\[0\]/,
    );
    await expect(command.client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await rm(command.rulesPath);
    await looked(/the rules from before stay in force" err=".*rules.yaml: cannot be read: ENOENT/);
    // Said once, however often it is looked at.
    await command.clock.advance(5_000);
    expect(command.stderr.match(/stay in force/g)).toHaveLength(2);

    await writeFile(command.rulesPath, 'rules: []\n');
    await looked(/rules=0\n/);
    expect((await command.client.version()).runtimeName).toBe('test');
  });

  it.each([
    ['rules: [{}]', 'rules[0].name: is missing'],
    ['', 'the file is empty'],
    [undefined, 'rules.yaml: cannot be read: ENOENT'],
  ])('ends with 1 and one line when the rules are %j', async (text, complaint) => {
    await using command = await ChaosCommand.prepare();
    if (text !== undefined) await writeFile(command.rulesPath, text);
    await command.start();
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(complaint);
    expect(command.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('ends with 1 when somebody listens there already', async () => {
    await using command = await ChaosCommand.prepare();
    await writeFile(command.rulesPath, 'rules: []\n');
    await using other = await CriTestServer.start({ socketPath: command.socketPath });
    await command.start();
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(`somebody listens at ${other.socketPath} already`);
  });
});
