/**
 * What an image says of how it is run, as official images say it: USER, VOLUME, STOPSIGNAL, ENTRYPOINT, WORKDIR. Needs root;
 * skipped elsewhere.
 *
 * @module
 */
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONTAINER_EXITED, type ContainerParts, EmbeddedNode, until } from './embedded-node.js';
import { writeProgramImage } from './program-image.js';

const DATABASE = 'podloop.test/database:1';
const SERVER = 'podloop.test/server:1';
const UNWELL = 'podloop.test/unwell:1';
const ENTRYPOINT = `#!/bin/sh
echo "began as $(id -u) in $(readlink /proc/self/cwd) with $*"
trap 'echo quit; exit 7' QUIT
"$@"
while :; do sleep 0.05; done
`;

describe.skipIf(process.getuid?.() !== 0)('what an image says of how it is run (needs root)', () => {
  let node: EmbeddedNode;
  let images = '';
  let pod = '';
  let count = 0;

  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'podloop-images-'));
    await writeProgramImage(images, {
      name: DATABASE,
      members: [
        { name: 'var/lib/data/', mode: 0o750, uid: 65534, gid: 65534 },
        { name: 'var/lib/data/seed', content: 'of the image', uid: 65534, gid: 65534 },
      ],
      config: { User: 'nobody', WorkingDir: '/var/lib/data', Volumes: { '/var/lib/data': {}, '/cache': {} } },
    });
    await writeProgramImage(images, {
      name: SERVER,
      members: [{ name: 'bin/entrypoint', content: ENTRYPOINT, mode: 0o755 }],
      config: { Entrypoint: ['entrypoint'], Cmd: ['echo', 'hello'], StopSignal: 'SIGQUIT' },
    });
    await writeProgramImage(images, {
      name: UNWELL,
      members: [],
      config: { Cmd: ['sleep', '60'], Healthcheck: { Test: ['CMD', '/bin/false'], Interval: 1_000_000 } },
    });
    node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none', imageDirs: [images] });
    for (const image of [DATABASE, SERVER, UNWELL]) await node.client.pullImage({ image: { image } });
    pod = await node.runPod('pod');
  }, 120_000);
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(images, { recursive: true, force: true });
  });

  async function run(image: string, script: string, more: ContainerParts = {}): Promise<string> {
    const name = `c${count++}`;
    const id = await node.run(pod, name, script, { image: { image }, ...more });
    await node.exited(id);
    await node.client.removeContainer({ containerId: id });
    return node.log(name);
  }

  const READ_ONLY: ContainerParts = { linux: { securityContext: { readonlyRootfs: true } } };
  const volumesOnDisk = async (): Promise<readonly string[]> => {
    const folder = join(node.root, 'images', 'containers');
    return (await readdir(folder, { recursive: true })).filter((each) => each.endsWith('/volumes'));
  };

  it('makes a volume of what the image has there, writable over a read-only root, gone with the container', async () => {
    const script = [
      'id -u; cat seed; echo; stat -c "%a %u" .; echo mine > own && cat own; cat /etc/passwd > /x || echo closed',
      'stat -c %a /cache; grep " /var/lib/data " /proc/self/mountinfo | head -c 1 | grep -c .',
    ].join('; ');
    for (let round = 0; round < 2; round++) {
      const log = await run(DATABASE, script, READ_ONLY);
      for (const line of ['65534', 'of the image', '750 65534', 'mine', 'closed', '755', '1'])
        expect(log).toMatch(new RegExp(`F ${line}$`, 'm'));
      expect(await volumesOnDisk()).toEqual([]);
    }
  });

  it('gives way to what the pod mounts there', async () => {
    const mine = await mkdtemp(join(tmpdir(), 'podloop-volume-'));
    try {
      await chmod(mine, 0o755);
      const mounts = [
        { hostPath: mine, containerPath: '/var/lib/data', readonly: false, selinuxRelabel: false },
      ] as ContainerParts['mounts'];
      const log = await run(DATABASE, 'ls; echo empty', { mounts, linux: { securityContext: {} } });
      expect(log).toMatch(/F empty$/m);
      expect(log).not.toContain('seed');
    } finally {
      await rm(mine, { recursive: true });
    }
  });

  it('starts the entrypoint with the command, and stops it with the image’s signal', async () => {
    const name = `c${count++}`;
    const id = await node.run(pod, name, '', { image: { image: SERVER }, command: [], args: [] });
    await until(
      () => node.log(name),
      (log) => log.includes('hello'),
    );
    expect(await node.log(name)).toContain('began as 0 in / with echo hello');
    await node.client.stopContainer({ containerId: id, timeout: 30n });
    expect(await node.status(id)).toMatchObject({ state: CONTAINER_EXITED, exitCode: 7 });
    expect(await node.log(name)).toContain('quit');
  });

  it('does not look after a HEALTHCHECK, which Kubernetes does not know', async () => {
    const id = await node.run(pod, `c${count++}`, '', { image: { image: UNWELL }, command: [], args: [] });
    const { state, mounts } = await node.status(id);
    expect([state, mounts]).toEqual([1, []]);
  });
});
