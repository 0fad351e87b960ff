/**
 * The embedded runtime on a disk without room. Needs root for the small file system; skipped elsewhere.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PodSandboxState } from '#watch/messages';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { fillDisk } from './fill-disk.js';
import { EmbeddedNode, ISOLATIONS, until } from './embedded-node.js';
import { processesWith } from './processes-with.js';

const run = promisify(execFile);

describe.skipIf(process.getuid?.() !== 0).each(ISOLATIONS)(
  'a full disk, isolation %s (needs root)',
  (isolation) => {
    it('keeps no runtime from starting, loses no exit code and lets pods be stopped and removed', async () => {
      await using node = await EmbeddedNode.prepare({ isolation, network: 'none' });
      await mkdir(node.root);
      await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'podloop-test', node.root]);
      try {
        await node.startInside();
        const script = `until [ -e ${node.folder}/go ]; do sleep 0.02; done; exit 7`;
        const id = await node.run(await node.runPod('p'), 'c', script);
        await node.runtime?.close();
        await fillDisk(join(node.root, 'filler'));
        await run('touch', [join(node.folder, 'go')]);
        await node.startInside();
        expect(await node.exited(id)).toMatchObject({ exitCode: 7 });
        await until(
          () =>
            node.clear().then(
              () => true,
              () => false,
            ),
          (cleared) => cleared,
        );
        await rm(join(node.root, 'filler'));
        const stopped = await node.runPod('stopped');
        await node.run(stopped, 'c', 'sleep 1000');
        const lost = await node.run(stopped, 'lost', 'sleep 1000');
        await fillDisk(join(node.root, 'filler'));
        const [supervisor] = await processesWith(`supervisor.sh\0${node.root}/containers/${lost}`);
        process.kill(supervisor!, 'SIGKILL');
        expect(await node.exited(lost)).toMatchObject({
          ...{ exitCode: 255, reason: 'Unknown', message: 'its supervisor was killed' },
        });
        await expect(node.runPod('full')).rejects.toThrow(
          `the runtime cannot write in its root folder ${node.root}: ENOSPC: no space left on device`,
        );
        await node.client.stopPodSandbox({ podSandboxId: stopped });
        await node.runtime?.close();
        await node.startInside();
        const { items } = await node.client.listPodSandbox({});
        expect(items).toMatchObject([{ id: stopped, state: PodSandboxState.SANDBOX_NOTREADY }]);
        await node.clear();
        await rm(join(node.root, 'filler'));
        expect(await node.exited(await node.run(await node.runPod('q'), 'd', 'exit 3'))).toMatchObject({
          exitCode: 3,
        });
        await node.clear();
        await node.runtime?.close();
      } finally {
        await run('umount', ['-l', node.root]);
      }
    });
  },
);

const MIB = 1024 ** 2;

describe.skipIf(process.getuid?.() !== 0)('a disk that gets full during a pull (needs root)', () => {
  it.each([
    ['while layers are fetched', [randomBytes(9 * MIB), randomBytes(10 * MIB), randomBytes(11 * MIB)]],
    // Layers of a few KiB, which are much more when they are unpacked.
    ['while layers are unpacked', [9, 10, 11].map((size) => Buffer.alloc(size * MIB, 'podloop'))],
  ])(
    '%s gets all that room back, and smaller images come and go',
    async (_, contents) => {
      await using registry = await FakeRegistry.start();
      const add = (name: string, layers: readonly Buffer[]): void => {
        const members = layers.map((content, at) => [{ name: `file-${at}`, content }]);
        const { manifest } = registry.layout.addManifest({ layers: members, compression: 'gzip' });
        registry.tag(`${name}:1`, manifest);
      };
      add('large', contents);
      for (const name of ['before', 'after']) add(name, [Buffer.alloc(MIB, name)]);
      const hosts = { configFolders: [], environment: {} };
      await using node = await EmbeddedNode.prepare({ network: 'none', registry: hosts });
      const image = (name: string) => ({ image: { image: `${registry.host}/${name}:1` } });
      const left = async (): Promise<string[]> => {
        const names = ['blobs', 'roots', 'temporary', 'records'].map(async (folder) => {
          const found = await readdir(join(node.root, 'images', folder));
          return found.map((name) => join(folder, name));
        });
        return (await Promise.all(names)).flat().sort();
      };
      await mkdir(node.root);
      await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'podloop-test', node.root]);
      try {
        await node.startInside();
        await node.client.pullImage(image('before'));
        const before = await left();
        for (let attempt = 0; attempt < 2; attempt++) {
          await expect(node.client.pullImage(image('large'))).rejects.toThrow(
            /the disk is full|MiB are left on the disk of images/,
          );
          await until(left, (now) => now.join() === before.join());
        }
        const { imageRef } = await node.client.pullImage(image('after'));
        expect((await node.client.listImages({})).images.map(({ id }) => id)).toContain(imageRef);
        const roots = await readdir(join(node.root, 'images', 'roots'));
        const files = roots.map((root) => readFile(join(node.root, 'images', 'roots', root, 'root/file-0')));
        expect((await Promise.all(files)).map((content) => content.subarray(0, 6).toString()).sort()).toEqual(
          ['aftera', 'before'],
        );
        await run('mount', ['-o', 'remount,size=200m', node.root]);
        await node.client.pullImage(image('large'));
        for (const { id } of (await node.client.listImages({})).images.slice(1))
          await node.client.removeImage({ image: { image: id } });
        await until(left, (now) => now.length === 0);
        await node.runtime?.close();
      } finally {
        await run('umount', ['-l', node.root]);
      }
    },
    120_000,
  );
});
