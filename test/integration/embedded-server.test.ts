import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { mkdir, open, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedRuntime } from '../../src/box/index.js';
import { CONTAINER_EXITED, CONTAINER_RUNNING, EmbeddedNode, logLines, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

let program: RuntimeProgram;
beforeAll(async () => {
  program = await RuntimeProgram.build();
});
afterAll(() => program[Symbol.asyncDispose]());

describe('the embedded runtime as a server', () => {
  it('says who it is and that it isolates nothing', async () => {
    await using node = await EmbeddedNode.start();
    expect(await node.client.version({})).toMatchObject({
      version: '0.1.0',
      runtimeName: 'podloop-embedded',
      runtimeApiVersion: 'v1',
    });
    const { status, info } = await node.client.status({ verbose: true });
    const conditions = Object.fromEntries(status!.conditions.map((found) => [found.type, found.status]));
    expect(conditions).toEqual({
      RuntimeReady: true,
      NetworkReady: true,
      Isolation: false,
      // As the machine has cgroups.
      Limits: expect.any(Boolean) as boolean,
    });
    expect(JSON.parse(info['config']!)).toMatchObject({ isolation: 'none', network: 'host' });
    await node.client.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: '10.0.0.0/24' } } });
    expect((await node.client.runtimeConfig({})).linux?.cgroupDriver).toBe(1);
  });

  it('listens at a socket that only its owner may open, and takes it away at its end', async () => {
    await using node = await EmbeddedNode.start();
    const path = join(node.folder, 'cri.sock');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(node.runtime?.endpoint).toBe(`unix://${path}`);
    await node.runtime?.close();
    node.runtime = undefined;
    expect((await readdir(node.folder)).sort()).toEqual(['root']);
  });

  it('replaces a socket that nobody answers at, and leaves alone one that somebody does', async () => {
    await using node = await EmbeddedNode.prepare();
    const killed = await program.start(node);
    await end(killed, 'SIGKILL');
    await node.startInside();
    expect((await node.client.version({})).runtimeName).toBe('podloop-embedded');

    const other = { listen: node.listen, rootDir: join(node.folder, 'other') };
    await expect(EmbeddedRuntime.start(other)).rejects.toMatchObject({ code: 'ENDPOINT_IN_USE' });
    expect((await node.client.version({})).runtimeName).toBe('podloop-embedded');
    // The refused one has let go of its root.
    await using third = await EmbeddedRuntime.start({ ...other, listen: `unix://${node.folder}/third.sock` });
    expect(third.podCount).toBe(0);
  });

  it('refuses a root in which another one works, and takes it once that one has ended', async () => {
    await using node = await EmbeddedNode.start();
    const options = { listen: `unix://${node.folder}/second.sock`, rootDir: node.root };
    await expect(EmbeddedRuntime.start(options)).rejects.toMatchObject({ code: 'RUNTIME_ROOT_IN_USE' });
    await node.runtime?.close();
    node.runtime = undefined;
    await using second = await EmbeddedRuntime.start(options);
    expect(second.endpoint).toBe(options.listen);
  });

  it.each([['tcp://127.0.0.1:1'], ['relative/cri.sock']])('refuses to listen at %s', async (listen) => {
    await using node = await EmbeddedNode.prepare();
    const start = EmbeddedRuntime.start({ listen, rootDir: node.root });
    await expect(start).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });

  it('leaves a file alone that is no socket', async () => {
    await using node = await EmbeddedNode.prepare();
    await writeFile(join(node.folder, 'cri.sock'), 'precious');
    await expect(node.startInside()).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    expect((await stat(join(node.folder, 'cri.sock'))).size).toBe(8);
  });

  it('does not wait for a server that is there and does not answer', async () => {
    await using node = await EmbeddedNode.prepare();
    const silent = createServer(() => undefined).listen(join(node.folder, 'cri.sock'));
    await once(silent, 'listening');
    await expect(node.startInside()).rejects.toMatchObject({ code: 'ENDPOINT_IN_USE' });
    silent.close();
  });

  it('makes the folders that it needs, the root for its owner only', async () => {
    await using node = await EmbeddedNode.prepare();
    const rootDir = join(node.folder, 'a', 'root');
    await using runtime = await EmbeddedRuntime.start({ listen: `${node.folder}/b/cri.sock`, rootDir });
    expect((await stat(rootDir)).mode & 0o777).toBe(0o700);
    expect(dirname(runtime.endpoint)).toBe(`unix://${node.folder}/b`);
  });

  it('throws away what was half made when it was killed', async () => {
    await using node = await EmbeddedNode.prepare();
    const draft = join(node.root, 'containers', `.unfinished-${'a'.repeat(64)}`);
    await mkdir(draft, { recursive: true });
    await mkdir(join(node.root, 'sandboxes'));
    await writeFile(join(draft, 'container.json'), '{"half');
    await writeFile(join(node.root, 'sandboxes', 'x.json.tmp'), '{"half');
    await node.startInside();
    expect(await readdir(join(node.root, 'containers'))).toEqual([]);
    expect(await readdir(join(node.root, 'sandboxes'))).toEqual([]);
  });
});

describe('podloop runtime', () => {
  it('ends cleanly at SIGTERM and leaves containers running, also when a reader of events hangs on', async () => {
    await using node = await EmbeddedNode.prepare();
    const first = await program.start(node);
    const events = node.client.getContainerEvents({})[Symbol.asyncIterator]();
    const ended = events.next().catch(() => undefined);
    const id = await node.run(await node.runPod('p'), 'c', 'sleep 1000');
    expect(await end(first, 'SIGTERM')).toBe(0);
    await ended;
    const second = await program.start(node);
    expect((await node.status(id)).state).toBe(CONTAINER_RUNNING);
    await node.clear();
    expect(await end(second, 'SIGINT')).toBe(0);
  });

  it('ends and removes all pods first with --stop-pods', async () => {
    await using node = await EmbeddedNode.prepare();
    const first = await program.start(node, '--stop-pods');
    const script = `trap 'echo bye > ${node.folder}/said; exit 0' TERM; echo up; while :; do sleep 0.01; done`;
    await node.run(await node.runPod('p'), 'c', script);
    await until(
      () => node.log('c'),
      (log) => log.includes('up'),
    );
    expect(await end(first, 'SIGTERM')).toBe(0);
    expect((await stat(join(node.folder, 'said'))).size).toBe(4);
    const second = await program.start(node);
    expect((await node.client.listPodSandbox({})).items).toEqual([]);
    await end(second, 'SIGTERM');
  });

  it('goes on after the end of its parent until no pod lives, and leaves what has ended to the next', async () => {
    await using node = await EmbeddedNode.prepare();
    const parent = spawn('sleep', ['1000']);
    const runtime = await program.start(node, '--exit-with-parent', String(parent.pid));
    const exited = once(runtime, 'exit');
    const pod = await node.runPod('p');
    const id = await node.run(pod, 'c', 'exit 0');
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect((await node.exited(id)).state).toBe(CONTAINER_EXITED);
    await node.client.stopPodSandbox({ podSandboxId: pod });
    expect(await exited).toEqual([0, null]);
    await node.startInside();
    expect((await node.client.listPodSandbox({})).items).toMatchObject([{ id: pod }]);
    expect((await node.status(id)).state).toBe(CONTAINER_EXITED);
  });

  it('ends with its parent and all pods with --stop-pods', async () => {
    await using node = await EmbeddedNode.prepare();
    const parent = spawn('sleep', ['1000']);
    const runtime = await program.start(node, '--exit-with-parent', String(parent.pid), '--stop-pods');
    const exited = once(runtime, 'exit');
    await node.run(await node.runPod('p'), 'c', 'sleep 1000');
    parent.kill('SIGKILL');
    expect(await exited).toEqual([0, null]);
    expect(await readdir(join(node.root, 'containers'))).toEqual([]);
  });

  it('says in one line what is wrong with an option, and does not start', async () => {
    await using node = await EmbeddedNode.prepare();
    const child = program.spawn('--listen', node.listen, '--root', node.root, '--exit-with-parent', 'me');
    const exited = once(child, 'exit');
    expect(await text(child.stderr!)).toContain('must be a process id');
    expect(await exited).toEqual([1, null]);
  });

  it('hands no descriptor that it was started with on to a container', async () => {
    await using node = await EmbeddedNode.prepare();
    await using folder = await open('/', 'r');
    const words = [program.main, 'runtime', ...node.args, '--stop-pods'];
    const stdio = [...Array<'ignore'>(40).fill('ignore'), folder.fd];
    const child = spawn(process.execPath, words, { stdio });
    try {
      await until(
        () => node.client.version({}).catch(() => undefined),
        (answer) => answer !== undefined,
      );
      const id = await node.run(await node.runPod('p'), 'c', 'ls /proc/self/fd');
      await node.exited(id);
      // The fourth is that of the list itself.
      expect(logLines(await node.log('c'))).toEqual(['0', '1', '2', '3'].map((fd) => `stdout F ${fd}`));
    } finally {
      await end(child, 'SIGTERM');
    }
  });
});
