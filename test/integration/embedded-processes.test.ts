import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CONTAINER_CREATED,
  CONTAINER_EXITED,
  CONTAINER_RUNNING,
  EmbeddedNode,
  HOST_IMAGE,
  ISOLATIONS,
  logLines,
  until,
} from './embedded-node.js';
import { processesWith } from './processes-with.js';

describe.each(ISOLATIONS)('processes of containers on the embedded runtime, isolation %s', (isolation) => {
  it('have the environment, arguments and working directory that were asked for, and nothing else', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    await mkdir(join(node.folder, "wd's"));
    const pod = await node.runPod('p', { hostname: 'pod-host' });
    const id = await node.create(pod, 'c', '', {
      command: ['sh', '-c', 'printf "%s\\n" "$@"; pwd; env', 'name', "it's", 'a  b', '$HOME'],
      args: ['*', ''],
      workingDir: join(node.folder, "wd's"),
      envs: [{ key: 'PLAIN', value: Buffer.from("value with 'quotes' and = signs") }],
    });
    await node.client.startContainer({ containerId: id });
    await node.exited(id);
    const lines = logLines(await node.log('c')).map((line) => line.slice('stdout F '.length));
    expect(lines.slice(0, 6)).toEqual(["it's", 'a  b', '$HOME', '*', '', join(node.folder, "wd's")]);
    const environment = lines.slice(6);
    expect(environment).toContain("PLAIN=value with 'quotes' and = signs");
    expect(environment).toContain('HOSTNAME=pod-host');
    expect(environment).toContain(`PODLOOP_CONTAINER_ID=${id}`);
    const names = environment.map((line) => line.slice(0, line.indexOf('=')));
    expect(names).not.toContain('VITEST');
  });

  it('get variables whose names no shell can hold', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const envs = [{ key: 'dotted.name-x', value: Buffer.from('kept') }];
    const id = await node.create(await node.runPod('p'), 'c', '', { command: ['env'], envs });
    await node.client.startContainer({ containerId: id });
    await node.exited(id);
    expect(await node.log('c')).toContain('dotted.name-x=kept');
  });

  // With walls a container's own first process tells the others, as with other runtimes.
  it.runIf(isolation === 'none')('are asked to end by the configured signal, as a group', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    // Both listen before anything is said: the child's shell does not keep its parent's trap, and sets its own.
    const child = `(trap 'echo child; exit' USR1; echo up; while :; do sleep 0.01; done)`;
    const script = `trap 'echo main; wait; exit 5' USR1; ${child} & wait`;
    const id = await node.run(await node.runPod('p'), 'c', script, { stopSignal: 29 });
    await until(
      () => node.log('c'),
      (log) => log.includes('up'),
    );
    await node.client.stopContainer({ containerId: id, timeout: 30n });
    expect(await node.status(id)).toMatchObject({ exitCode: 5, stopSignal: 29 });
    const said = logLines(await node.log('c')).filter((line) => line.startsWith('stdout'));
    expect(said.sort()).toEqual(['stdout F child', 'stdout F main', 'stdout F up']);
  });

  it('are killed after the timeout with everything that they started, also outside of their session', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const mark = `7777${process.pid}`;
    const script = `trap '' TERM; setsid sleep ${mark}1 & sleep ${mark}2 & echo up; while :; do sleep 0.01; done`;
    const id = await node.run(await node.runPod('p'), 'c', script);
    await until(
      () => processesWith(mark),
      (pids) => pids.length === 3,
    );
    await node.client.stopContainer({ containerId: id, timeout: 1n });
    expect(await node.status(id)).toMatchObject({ state: CONTAINER_EXITED, exitCode: 137 });
    expect(await processesWith(mark)).toEqual([]);
  });

  it('leave nothing behind when they end by themselves', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const mark = `8888${process.pid}`;
    const script = `setsid sleep ${mark}1 & sleep ${mark}2 & exit 0`;
    const id = await node.run(await node.runPod('p'), 'c', script);
    expect(await node.exited(id)).toMatchObject({ exitCode: 0 });
    await until(
      () => processesWith(mark),
      (pids) => pids.length === 0,
    );
  });

  it('are killed when their container is removed', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const mark = `9999${process.pid}`;
    const id = await node.run(await node.runPod('p'), 'c', `sleep ${mark}`);
    await until(
      () => processesWith(mark),
      (pids) => pids.length > 0,
    );
    await node.client.removeContainer({ containerId: id });
    expect(await processesWith(mark)).toEqual([]);
    await expect(node.status(id)).rejects.toThrow('does not exist');
  });

  it('whose supervisor was killed end with an unknown exit code', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const id = await node.run(await node.runPod('p'), 'c', 'sleep 1000');
    const [supervisor] = await processesWith(`supervisor.sh\0${node.root}/containers/${id}`);
    process.kill(supervisor!, 'SIGKILL');
    expect(await node.exited(id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  });

  it.each([
    ['is not there', ['/no/such/program'], 'no such file or directory'],
    ['is not in the path', ['no-such-program'], 'executable file not found'],
    ['is a folder', ['/tmp'], 'is a directory'],
    ['may not be executed', ['/etc/passwd'], 'permission denied'],
    ['is no program', ['BROKEN'], 'exec format error'],
    ['has no interpreter', ['ORPHAN'], 'no such file or directory'],
  ])('are not started when the command %s, and the container is exited', async (_what, command, message) => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    await writeFile(join(node.folder, 'BROKEN'), 'hello\n', { mode: 0o755 });
    await writeFile(join(node.folder, 'ORPHAN'), '#!/no/such/interpreter\n', { mode: 0o755 });
    const resolved = command.map((word) => (/^[A-Z]+$/.test(word) ? join(node.folder, word) : word));
    const id = await node.create(await node.runPod('p'), 'c', '', { command: resolved });
    await expect(node.client.startContainer({ containerId: id })).rejects.toThrow(message);
    const status = await node.status(id);
    expect(status).toMatchObject({
      state: CONTAINER_EXITED,
      exitCode: 128,
      reason: 'StartError',
      startedAt: 0n,
    });
    expect(status.message).toContain(message);
    expect(status.finishedAt).toBeGreaterThanOrEqual(status.createdAt);
  });

  it('run commands beside them with their environment, and report output and exit code', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const envs = [{ key: 'COLOUR', value: Buffer.from('green') }];
    const id = await node.run(await node.runPod('p'), 'c', 'sleep 1000', { envs, workingDir: '/usr' });
    const cmd = ['sh', '-c', 'echo "$COLOUR $(pwd)"; echo oops >&2; exit 4'];
    const { stdout, stderr, exitCode } = await node.client.execSync({ containerId: id, cmd });
    expect([stdout.toString(), stderr.toString(), exitCode]).toEqual(['green /usr\n', 'oops\n', 4]);
    const killed = await node.client.execSync({ containerId: id, cmd: ['sh', '-c', 'kill -9 $$'] });
    expect(killed.exitCode).toBe(137);
  });

  it('run fifty at once, each with its own end, and nothing is left after their removal', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const descriptors = async () => (await readdir('/proc/self/fd')).length;
    const warmUp = await node.runPod('warm-up');
    await node.exited(await node.run(warmUp, 'c', 'exit 0'));
    await node.client.removePodSandbox({ podSandboxId: warmUp });
    const before = await descriptors();

    const pods = await Promise.all(Array.from({ length: 25 }, (_, at) => node.runPod(`p${at}`)));
    const ids = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        node.run(pods[at >> 1]!, `c${at}`, `echo "I am ${at}"; exit ${at}`),
      ),
    );
    const ends = await Promise.all(ids.map((id) => node.exited(id)));
    expect(ends.map(({ exitCode }) => exitCode)).toEqual(ids.map((_, at) => at));
    expect(await node.log('c49')).toMatch(/stdout F I am 49\n$/);

    await node.clear();
    expect(await processesWith(node.root)).toEqual([]);
    expect(await readdir(join(node.root, 'containers'))).toEqual([]);
    expect(await readdir(join(node.root, 'sandboxes'))).toEqual([]);
    await until(descriptors, (count) => count <= before);
  });

  it('are listed by every filter of CRI, in one answer and as a stream', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const [one, two] = [await node.runPod('one'), await node.runPod('two')];
    const labels = { tier: 'front', zone: 'a' };
    const created = await node.create(one, 'created', 'exit 0', { labels });
    const running = await node.run(one, 'running', 'sleep 1000', { labels: { tier: 'front', zone: 'b' } });
    const exited = await node.run(two, 'exited', 'exit 0');
    await node.exited(exited);
    await node.client.stopPodSandbox({ podSandboxId: two });

    const containers = async (filter: object) => {
      const { containers: listed } = await node.client.listContainers({ filter });
      const streamed = [];
      for await (const part of node.client.streamContainers({ filter })) streamed.push(...part.containers);
      expect(streamed).toEqual(listed);
      return listed.map(({ id }) => id);
    };
    expect(await containers({})).toEqual([created, running, exited]);
    expect(await containers({ id: running })).toEqual([running]);
    expect(await containers({ id: running.slice(0, 13) })).toEqual([]);
    expect(await containers({ podSandboxId: two })).toEqual([exited]);
    expect(await containers({ state: { state: CONTAINER_CREATED } })).toEqual([created]);
    expect(await containers({ state: { state: CONTAINER_RUNNING } })).toEqual([running]);
    expect(await containers({ state: { state: CONTAINER_EXITED } })).toEqual([exited]);
    expect(await containers({ labelSelector: { tier: 'front' } })).toEqual([created, running]);
    expect(await containers({ labelSelector: labels })).toEqual([created]);
    expect(await containers({ id: created, podSandboxId: two })).toEqual([]);

    const sandboxes = async (filter: object) => {
      const { items } = await node.client.listPodSandbox({ filter });
      const streamed = [];
      for await (const part of node.client.streamPodSandboxes({ filter }))
        streamed.push(...part.podSandboxes);
      expect(streamed).toEqual(items);
      return items.map(({ id }) => id);
    };
    expect(await sandboxes({})).toEqual([one, two]);
    expect(await sandboxes({ id: two })).toEqual([two]);
    expect(await sandboxes({ state: { state: 1 } })).toEqual([two]);
    expect(await sandboxes({ labelSelector: { app: 'one' } })).toEqual([one]);
    expect(await sandboxes({ labelSelector: { app: 'one' }, state: { state: 1 } })).toEqual([]);
  });

  it('come from the one image that there is', async () => {
    await using node = await EmbeddedNode.start({ isolation, network: 'none' });
    const { images } = await node.client.listImages({});
    expect(images.map(({ repoTags }) => repoTags)).toEqual([[`${HOST_IMAGE}:latest`]]);
    for (const image of [HOST_IMAGE, images[0]!.id, images[0]!.repoDigests[0]!]) {
      expect((await node.client.imageStatus({ image: { image } })).image?.id).toBe(images[0]!.id);
      expect((await node.client.pullImage({ image: { image } })).imageRef).toBe(images[0]!.id);
    }
    const { containerFilesystems } = await node.client.imageFsInfo({});
    expect(containerFilesystems[0]?.fsId?.mountpoint).toBe(node.root);
  });
});
