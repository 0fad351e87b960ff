import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/client.js';
import { CriTestServer } from '#support/clients/cri-test-server.js';
import { VersionResponse } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { PodloopProcess } from './podloop-process.js';

const RULES = 'rules:\n  - {name: fails, match: {methods: [Version], nth: 1}, fault: {type: error}}\n';

/** A folder for sockets and rules, and a runtime. */
async function prepare(): Promise<{ folder: string; runtime: CriTestServer } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-chaos-'));
  const runtime = await CriTestServer.start({
    handlers: {
      version: (_call, reply) => reply(null, VersionResponse.fromPartial({ runtimeName: 'test' })),
    },
  });
  await writeFile(join(folder, 'rules.yaml'), RULES);
  return {
    folder,
    runtime,
    [Symbol.asyncDispose]: async () => {
      await runtime[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function chaos(folder: string, upstream: string): PodloopProcess {
  const listen = `unix://${join(folder, 'chaos.sock')}`;
  return new PodloopProcess([
    'chaos',
    '--upstream',
    upstream,
    '--listen',
    listen,
    '--rules',
    join(folder, 'rules.yaml'),
  ]);
}

describe('podloop chaos as a process', () => {
  it('prints its counts at SIGUSR1 and at the end, and ends cleanly with calls open', async () => {
    await using world = await prepare();
    await using podloop = chaos(world.folder, world.runtime.endpoint);
    await podloop.line('stderr', /"Listening"/);
    const client = new CriClient({ endpoint: `unix://${join(world.folder, 'chaos.sock')}` });
    await expect(client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect((await client.version()).runtimeName).toBe('test');
    podloop.child.kill('SIGUSR1');
    await podloop.line('stdout', /^fails +error +Version +1$/);
    expect(podloop.stdout).toHaveLength(2);
    expect(await podloop.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(podloop.stdout).toHaveLength(4);
    expect(podloop.stderr).toHaveLength(1);
    client.close();
    expect(await readdir(world.folder)).toEqual(['rules.yaml']);
  });

  it('goes on when it may open no more files, and accepts again as soon as it may', async () => {
    await using world = await prepare();
    await using podloop = chaos(world.folder, world.runtime.endpoint);
    await podloop.line('stderr', /"Listening"/);
    const pid = podloop.child.pid!;
    const limitFiles = (limit: string): Promise<unknown> =>
      promisify(execFile)('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
    const { stdout } = await promisify(execFile)('prlimit', [
      ...['--pid', String(pid), '--nofile', '--raw', '--noheadings', '--output', 'SOFT'],
    ]);
    const open = new Set(await readdir(`/proc/${pid}/fd`));
    // The limit is for the number of the next one, which is the lowest that is free.
    const free = Array.from({ length: 1_000 }, (_, fd) => fd).find((fd) => !open.has(String(fd)))!;
    await limitFiles(String(free));
    const crowd = Array.from({ length: 20 }, () => connect(join(world.folder, 'chaos.sock')));
    for (const socket of crowd) socket.on('error', () => undefined).resume();
    await Promise.all(crowd.map((socket) => once(socket, 'close')));
    await limitFiles(stdout.trim());
    const client = new CriClient({ endpoint: `unix://${join(world.folder, 'chaos.sock')}` });
    // The first is the rule's; before it, what was turned away may still be noticed.
    const answers: string[] = [];
    while (answers.length === 0) {
      await client.version().then(
        ({ runtimeName }) => void answers.push(runtimeName),
        () => undefined,
      );
    }
    expect(answers).toEqual(['test']);
    client.close();
    expect(await podloop.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('takes the place of one that was killed, and says when the runtime is not there', async () => {
    await using world = await prepare();
    await using killed = chaos(world.folder, world.runtime.endpoint);
    await killed.line('stderr', /"Listening"/);
    await killed.end('SIGKILL');
    await using podloop = chaos(world.folder, `unix://${join(world.folder, 'nowhere.sock')}`);
    await podloop.line('stderr', /"Listening"/);
    const client = new CriClient({ endpoint: `unix://${join(world.folder, 'chaos.sock')}` });
    await expect(client.version()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await podloop.line(
      'stderr',
      /"The server cannot be reached, its clients are turned away" upstream=".*nowhere/,
    );
    client.close();
    expect(await podloop.end('SIGINT')).toEqual({ code: 0, signal: null });
  });
});
