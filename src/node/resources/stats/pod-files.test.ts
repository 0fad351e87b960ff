import { link, mkdir, mkdtemp, open as openFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pidInInfo, PodFiles, type PodFilesUse } from './pod-files.js';

const SANDBOX = '5a4d'.repeat(16);
const CONTAINER = 'c0de'.repeat(16);
const BLOCK = 4096;

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'podloop-pod-files-'))));
afterEach(async () => rm(folder, { recursive: true }));

async function put(path: string, bytes: number): Promise<string> {
  const file = join(folder, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, 'x'.repeat(bytes));
  return file;
}

/** Measures twice: nobody waits until the runtime has named the process. */
async function measure(mountinfo?: string, info = '{"pid":42}'): Promise<PodFilesUse> {
  const files = new PodFiles({
    podDir: (uid) => join(folder, 'pods', uid),
    inspect: async () => Promise.resolve(info),
    readMounts: async (pid) => {
      // The disk with the test's folder is mounted at its own path, from somewhere else on its file system.
      if (pid === 'self') return `30 1 8:1 /disk ${folder} rw - ext4 /dev/sda rw\n`;
      if (pid === 42 && mountinfo !== undefined) return mountinfo;
      throw new Error('there is no such process');
    },
  });
  const pod = { uid: 'u1', sandboxId: SANDBOX, containers: [{ id: CONTAINER, name: 'main' }] };
  await files.measure(pod);
  await new Promise((resolve) => setImmediate(resolve));
  return await files.measure(pod);
}

const mountOf = (path: string, place: string, how = 'rw', fsType = 'ext4'): string =>
  `99 90 8:1 /disk/${path} ${place} ${how},relatime - ${fsType} /dev/sda rw\n`;

describe('what lies in the folder of a pod', () => {
  it.each([
    ['is deleted', async (file: string) => rm(file)],
    ['is replaced', async (file: string) => rename(await put('new', BLOCK), file)],
  ])('does not count a file that %s while somebody has it open', async (_, remove) => {
    await put('pods/u1/something', BLOCK);
    const file = await put('pods/u1/etc-hosts', 2 * BLOCK);
    await using open = await openFile(file, 'a');
    expect((await measure()).pod.bytes).toBe(3 * BLOCK);
    await remove(file);
    const left = (await measure()).pod.bytes;
    // What is written into it from now on has no name that anybody could find.
    await open.write('x'.repeat(100 * BLOCK));
    await open.sync();
    expect((await open.stat()).blocks * 512).toBeGreaterThanOrEqual(102 * BLOCK);
    expect((await measure()).pod.bytes).toBe(left);
    expect(left).toBeLessThanOrEqual(2 * BLOCK);
  });

  it('counts by container and for all of them, volumes aside', async () => {
    await put('pods/u1/etc-hosts', 3 * BLOCK);
    await put('pods/u1/containers/main/0', BLOCK);
    await put('pods/u1/containers/main/1', 2 * BLOCK);
    await put('pods/u1/containers/side/0', 5 * BLOCK);
    await put('pods/u1/something-new', 7 * BLOCK);
    for (const volumes of ['volumes', 'volume-subpaths', 'volume-claims']) {
      await put(`pods/u1/${volumes}/kubernetes.io~empty-dir/data/file`, 100 * BLOCK);
    }
    const { pod, containers } = await measure();
    expect(pod).toEqual({ bytes: 10 * BLOCK, inodes: 2 });
    // The folders themselves take a block each where the file system gives them one.
    expect(containers.get('main')!.inodes).toBe(3);
    expect(containers.get('main')!.bytes).toBeGreaterThanOrEqual(3 * BLOCK);
    expect(containers.get('main')!.bytes).toBeLessThan(5 * BLOCK);
    expect(containers.get('side')!.bytes).toBeGreaterThanOrEqual(5 * BLOCK);
  });

  it('counts by blocks: holes are nothing, what a file pretends to be is nothing', async () => {
    const sparse = await put('pods/u1/etc-hosts', BLOCK);
    const file = await openFile(sparse, 'r+');
    await file.truncate(1024 * 1024 * 1024);
    await file.close();
    expect((await measure()).pod.bytes).toBe(BLOCK);
  });

  it.each(['..', '../u2', 'u1/x', ''])('is nothing for the uid %j of somebody else', async (uid) => {
    await put('pods/u2/etc-hosts', BLOCK);
    const files = new PodFiles({
      podDir: (each) => join(folder, 'pods', each),
      inspect: async () => Promise.resolve(''),
      readMounts: async () => Promise.resolve(''),
    });
    const { pod } = await files.measure({ uid, sandboxId: '', containers: [] });
    expect(pod.bytes).toBe(0);
  });
});

describe('what the runtime has put into a container', () => {
  // Where runtimes have these files: containerd, CRI-O, the embedded one, and one that nobody has seen yet.
  const places = [
    `var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/${SANDBOX}`,
    `run/containers/storage/overlay-containers/${SANDBOX}/userdata`,
    `runtime/sandboxes/${SANDBOX}/etc`,
    `opt/new/${SANDBOX}/deep/er`,
  ];
  const names = ['hostname', 'resolv.conf', 'hosts', 'machine-id'];
  it.each(places.flatMap((place) => names.map((name) => [place, name] as const)))(
    'counts for the pod: %s/%s',
    async (place, name) => {
      await put(`${place}/${name}`, 6 * BLOCK);
      const { pod, containers } = await measure(mountOf(`${place}/${name}`, `/etc/${name}`));
      expect(pod).toEqual({ bytes: 6 * BLOCK, inodes: 1 });
      expect(containers.size).toBe(0);
    },
  );

  it('counts for the container where it is in a folder of its own', async () => {
    const path = `runtime/containers/${CONTAINER}/state/file`;
    await put(path, 2 * BLOCK);
    const { pod, containers } = await measure(mountOf(path, '/run/file'));
    expect(pod.bytes).toBe(0);
    expect(containers.get('main')).toEqual({ bytes: 2 * BLOCK, inodes: 1 });
  });

  it('counts once, whatever names and mounts it has', async () => {
    const file = await put(`sandboxes/${SANDBOX}/hostname`, BLOCK);
    await link(file, join(folder, 'another-name'));
    const mount = `sandboxes/${SANDBOX}/hostname`;
    const { pod } = await measure(mountOf(mount, '/etc/hostname') + mountOf(mount, '/etc/mirror'));
    expect(pod.bytes).toBe(BLOCK);
  });

  it.each([
    ['may not be written to', `sandboxes/${SANDBOX}/file`, '/etc/hostname', 'ro', 'ext4'],
    ['lies in memory', `sandboxes/${SANDBOX}/file`, '/dev/shm', 'rw', 'tmpfs'],
    ['is the root of the container', `sandboxes/${SANDBOX}/file`, '/', 'rw', 'overlay'],
    ['belongs to the node', 'data/file', '/data', 'rw', 'ext4'],
    ['belongs to another pod', `sandboxes/${'f'.repeat(64)}/file`, '/etc/hostname', 'rw', 'ext4'],
    ['only begins with the id', `sandboxes/${SANDBOX}0/file`, '/etc/hostname', 'rw', 'ext4'],
  ])('does not count where it %s', async (_, path, place, how, fsType) => {
    await put(path, BLOCK);
    const { pod } = await measure(mountOf(path, place, how, fsType));
    expect(pod.bytes).toBe(0);
  });

  it.each(['', '{}', '{"pid":0}', '{"pid":"42"}', 'null', '[42]'])(
    'is nothing where the runtime says %j of its process',
    async (info) => {
      await put(`sandboxes/${SANDBOX}/hostname`, BLOCK);
      const { pod } = await measure(mountOf(`sandboxes/${SANDBOX}/hostname`, '/etc/hostname'), info);
      expect(pod.bytes).toBe(0);
      expect(pidInInfo(info)).toBeUndefined();
    },
  );

  it('does not count once the container has ended', async () => {
    await put('pods/u1/etc-hosts', BLOCK);
    expect((await measure(undefined)).pod.bytes).toBe(BLOCK);
  });
});
