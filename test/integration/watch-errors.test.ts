import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPodloop } from './podloop-process.js';

let folder: string;
const close: (() => void)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-watch-errors-'));
});

afterAll(async () => {
  for (const one of close) one();
  await rm(folder, { recursive: true });
});

async function listen(name: string, server: Server): Promise<string> {
  const path = join(folder, name);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  close.push(() => server.close());
  return path;
}

/** Runs `podloop watch` on an endpoint that cannot be watched and returns its one line, or as many as are expected. */
async function watchInVain(endpoint: string, { uid, lines = 1 }: Attempt = {}): Promise<string> {
  const { code, stdout, stderr } = await runPodloop(
    ['watch', '--runtime-endpoint', endpoint],
    uid === undefined ? {} : { uid, cwd: '/' },
  );
  expect(stdout).toBe('');
  expect(stderr.split('\n'), stderr).toHaveLength(lines);
  expect(code).toBe(1);
  return stderr;
}

interface Attempt {
  /** Of whom runs it (default: who runs the tests). */
  readonly uid?: number;
  readonly lines?: number;
}

describe('podloop watch says in one line what is wrong and what to do, and exits with 1, when', () => {
  it('there is no socket', async () => {
    const path = join(folder, 'none.sock');
    expect(await watchInVain(`unix://${path}`)).toBe(
      `error: there is no socket at unix://${path}: start the runtime, or name its socket with --runtime-endpoint (in a program: runtimeEndpoint)`,
    );
  });

  it('there is a file that is no socket', async () => {
    const path = join(folder, 'file');
    await writeFile(path, '');
    expect(await watchInVain(path)).toMatch(
      /^error: \/.*\/file is a file, no socket: name the runtime's socket/,
    );
  });

  it('nobody listens at the socket any more', async () => {
    const path = join(folder, 'stale.sock');
    const holder = await runNode(
      `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
    );
    expect(holder).toBe('SIGKILL');
    expect(await watchInVain(path)).toMatch(
      /^error: nobody listens at unix:\/\/.*\/stale\.sock: the runtime is not running; start it$/,
    );
  });

  it('the socket hangs up', async () => {
    const path = await listen(
      'rude.sock',
      createServer((socket) => socket.destroy()),
    );
    expect(await watchInVain(path)).toMatch(
      /^error: what listens at .*\/rude\.sock is no CRI runtime: .*; name the runtime's own socket/,
    );
  });

  it('HTTP is spoken at the socket, as by Docker', async () => {
    const path = await listen(
      'docker.sock',
      createHttpServer((_, response) => response.end('{}')),
    );
    expect(await watchInVain(path)).toMatch(
      /^error: what listens at .*\/docker\.sock is no CRI runtime: it speaks HTTP\/1.*; name the runtime's own socket/,
    );
  });

  it('gRPC is spoken, but not CRI v1', async () => {
    const path = join(folder, 'grpc.sock');
    const server = new GrpcServer();
    close.push(() => server.forceShutdown());
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    expect(await watchInVain(path)).toMatch(
      /^error: the gRPC server at .*\/grpc\.sock does not serve runtime\.v1: enable the runtime's CRI plugin/,
    );
  });

  it('the endpoint is of no known form', async () => {
    expect(await watchInVain('tcp://127.0.0.1:1')).toMatch(
      /^error: runtime endpoint "tcp:.*use unix:\/\/\/absolute\/path\.sock$/,
    );
  });

  it('no embedded runtime runs', async () => {
    const { code, stderr } = await runPodloop(['watch', '--runtime-endpoint', 'embedded'], {
      env: { XDG_RUNTIME_DIR: folder },
    });
    expect(stderr).toMatch(
      /^error: no embedded runtime runs here: .*podloop\/cri\.sock; start one with "podloop runtime"/,
    );
    expect(code).toBe(1);
  });

  // Root may open everything, so it takes another user; a test run by a user can just close the socket.
  it('the user may not open the socket', async () => {
    const path = await listen('closed.sock', createServer());
    const isRoot = process.getuid?.() === 0;
    await chmod(path, 0o600);
    await chmod(folder, 0o755);
    if (!isRoot) await chmod(path, 0);
    expect(await watchInVain(path, { lines: 2, ...(isRoot && { uid: 65_534 }) })).toMatch(
      /^error: this user may not open unix:\/\/.*\/closed\.sock: run as root, .*\nTo run it as root: sudo .* watch --runtime-endpoint \/.*\/closed\.sock$/,
    );
  });
});

describe('the command line of podloop', () => {
  it('names the command that was meant', async () => {
    const { code, stderr } = await runPodloop(['wach']);
    expect(stderr).toBe(
      'error: unknown command "wach" for "podloop"\n\nDid you mean this?\n\twatch\n\nSee \'podloop --help\' for usage.',
    );
    expect(code).toBe(1);
  });

  it.each([
    [
      ['watch', '--mod', 'x'],
      /^error: unknown flag: --mod\nDid you mean --mode or --pod\?\nSee 'podloop watch --help'/,
    ],
    [
      ['watch', '-o', 'xml'],
      /^error: invalid argument "xml" for "--output" flag: Allowed choices are text, wide, json/,
    ],
    [
      ['watch', '--relist-period', '5'],
      /^error: invalid argument "5" for "--relist-period" flag: use a positive duration/,
    ],
    [['watch', '--pod'], /^error: flag needs an argument: --pod\n/],
    [['demo'], /^error: missing required argument 'folder'\n/],
  ])('says what is wrong: %j', async (args, message) => {
    const { code, stdout, stderr } = await runPodloop(args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(1);
  });

  it.each([
    [[]],
    [['--help']],
    [['help', 'watch']],
    [['watch', '--help']],
    [['demo', '--help']],
    [['runtime', '--help']],
  ])('has help with examples: %j', async (args) => {
    const { code, stdout, stderr } = await runPodloop(args);
    expect(stdout).toMatch(/^Usage: podloop/);
    expect(stdout).toContain('Examples:');
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('has a version', async () => {
    expect(await runPodloop(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^podloop \d+\.\d+\.\d+$/) as unknown,
    });
  });
});

/** Runs a script in a Node of its own; the signal that ended it. */
async function runNode(script: string): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  return new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
}
