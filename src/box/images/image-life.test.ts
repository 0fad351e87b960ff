import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { commonFileHandle } from '#support/fakes/common-file-handle.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { OciLayout, type ImageToMake } from '#support/fakes/oci-layout.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findVolumePaths } from './container-roots.js';
import { HOST, HOST_IMAGE } from './host-image.js';
import { ImageStore, type ImageStoreOptions } from './image-store.js';

const NEVER = new AbortController().signal;
const ONE = 'example.test/one:1';
const TWO = 'example.test/two:1';
const SAME = 'example.test/same:1';
const CONFIG = {
  Entrypoint: ['/bin/app'],
  Cmd: ['--serve'],
  Env: ['PATH=/bin', 'broken'],
  User: '1000:50',
  WorkingDir: '/srv',
  StopSignal: 'SIGQUIT',
  Volumes: { '/data': {} },
  Labels: { a: 'b' },
};
const clock = new FakeClock();
let folder: string;
let store: ImageStore;
let ids: { readonly one: string; readonly two: string };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-image-life-'));
  const layout = new OciLayout();
  const layers: ImageToMake['layers'] = [[{ name: 'file', content: 'x'.repeat(10_000) }]];
  const one = layout.addImage({ names: [ONE, SAME], layers, config: CONFIG });
  const two = layout.addImage({ names: [TWO], layers: [...layers, [{ name: 'more' }]] });
  ids = { one: one.id, two: two.id };
  await mkdir(join(folder, 'layouts'));
  await writeFile(join(folder, 'layouts', 'a.tar'), layout.toTar());
  store = await openStore();
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

function openStore(more: Partial<ImageStoreOptions> = {}): Promise<ImageStore> {
  const imageDirs = [join(folder, 'layouts')];
  return ImageStore.open({ rootDir: join(folder, 'root'), imageDirs, logger: SILENT_LOGGER, clock, ...more });
}

/** What a killed runtime leaves is what is on the disk at that moment. */
async function reopen(): Promise<void> {
  await store.close();
  store = await openStore();
}

function at(...parts: string[]): string {
  return join(folder, 'root', 'images', ...parts);
}

const list = (what: string) => readdir(at(what));
const listed = () => store.images.map(({ id }) => id);
const refusal = (code: status) => expect.objectContaining({ code }) as Error;

describe('an image', () => {
  it('is in the list from its pull to its removal, through restarts', async () => {
    expect(listed()).toEqual([HOST.id]);
    await store.pull(TWO, NEVER);
    await store.pull(ONE, NEVER);
    expect(listed()).toEqual([HOST.id, ids.two, ids.one]);
    const before = store.images;
    await reopen();
    expect(store.images).toEqual(before);
    await store.remove(TWO);
    expect(listed()).toEqual([HOST.id, ids.one]);
    await reopen();
    expect(listed()).toEqual([HOST.id, ids.one]);
  });

  it('does not need its layout once it is pulled', async () => {
    await store.pull(ONE, NEVER);
    await rm(join(folder, 'layouts'), { recursive: true });
    await reopen();
    expect(store.configOf(store.get(ONE).id).cmd).toEqual(['--serve']);
    await expect(store.pull(ONE, NEVER)).rejects.toThrow(refusal(status.NOT_FOUND));
  });

  it('has all the names under which it was pulled, and is found by each, and by its id, also abbreviated', async () => {
    await store.pull(ONE, NEVER);
    await store.pull(SAME, NEVER);
    const image = store.get(ONE);
    expect(image.repoTags).toEqual([ONE, SAME]);
    expect(image.repoDigests).toHaveLength(2);
    const hex = ids.one.slice('sha256:'.length);
    for (const name of [
      SAME,
      ids.one,
      hex,
      hex.slice(0, 12),
      `sha256:${hex.slice(0, 8)}`,
      ...image.repoDigests,
    ])
      expect(store.find(name)?.id).toBe(ids.one);
    for (const name of [hex.slice(0, 3), `${hex.slice(0, 12)}g`, TWO, 'example.test/one', '', '../..'])
      expect(store.find(name)).toBeUndefined();
  });

  it('loses the name by which it is removed, and goes with the last one', async () => {
    await store.pull(ONE, NEVER);
    await store.pull(SAME, NEVER);
    await store.remove(SAME);
    await store.remove(SAME);
    expect(store.find(SAME)).toBeUndefined();
    // The digests of a repository go with its last tag.
    expect(store.get(ONE)).toMatchObject({ id: ids.one, repoTags: [ONE], repoDigests: [expect.any(String)] });
    await reopen();
    expect(store.get(ids.one).repoTags).toEqual([ONE]);
    const [digest] = store.get(ONE).repoDigests;
    await store.remove(digest!);
    expect(store.get(ONE)).toMatchObject({ repoTags: [ONE], repoDigests: [] });
    await store.remove(ONE);
    expect(listed()).toEqual([HOST.id]);
    expect(await list('roots')).toEqual([]);
    expect(await list('records')).toEqual([]);
  });

  it('is removed with all its names by its id, and again without complaint', async () => {
    for (const name of [ids.one, ids.one.slice('sha256:'.length, 'sha256:'.length + 12)]) {
      await store.pull(ONE, NEVER);
      await store.pull(SAME, NEVER);
      await store.remove(name);
      await store.remove(name);
      expect(listed()).toEqual([HOST.id]);
      expect(store.find(ONE)).toBeUndefined();
    }
    expect(await list('roots')).toEqual([]);
    expect(await list('records')).toEqual([]);
    await store.close();
    expect(await list('temporary')).toEqual([]);
  });

  it('shows its size, its user and its config', async () => {
    const image = await store.pull(ONE, NEVER);
    expect(image).toMatchObject({ uid: { value: 1000n }, username: '', pinned: false });
    expect(image.size).toBeGreaterThan(10_000n);
    expect(store.configOf(image.id)).toEqual({
      entrypoint: ['/bin/app'],
      cmd: ['--serve'],
      env: ['PATH=/bin'],
      user: '1000:50',
      workingDir: '/srv',
      stopSignal: 'SIGQUIT',
      volumes: ['/data'],
      labels: { a: 'b' },
    });
    expect(store.describe(image.id)).toMatchObject({
      chainId: expect.stringMatching(/^sha256:/) as string,
      config: { config: CONFIG },
    });
    expect(await store.pull(TWO, NEVER)).toMatchObject({ uid: undefined, username: '' });
  });

  it.each([
    ['nobody', { username: 'nobody', uid: undefined }],
    ['nobody:nogroup', { username: 'nobody', uid: undefined }],
    ['0', { username: '', uid: { value: 0n } }],
    ['', { username: '', uid: undefined }],
  ])('of the user "%s" says so', async (User, shown) => {
    const layout = new OciLayout();
    layout.addImage({ names: ['user:1'], layers: [], config: { User } });
    await writeFile(join(folder, 'layouts', 'user.tar'), layout.toTar());
    expect(await store.pull('user:1', NEVER)).toMatchObject(shown);
  });

  it('can be pulled again when its files were taken away, or the note about them is damaged', async () => {
    await store.pull(ONE, NEVER);
    const [name = ''] = await list('roots');
    await writeFile(at('roots', name, 'facts.json'), '');
    await reopen();
    expect(store.find(ONE)).toBeUndefined();
    await store.pull(ONE, NEVER);
    expect(store.find(ONE)?.id).toBe(ids.one);
  });

  it.each(['{', 'null', '{"version":1}'])(
    'whose record is damaged (%s) hides no other, and has its own files kept',
    async (damaged) => {
      await store.pull(ONE, NEVER);
      await store.pull(TWO, NEVER);
      await writeFile(at('records', `${ids.one.replace(':', '-')}.json`), damaged);
      await reopen();
      expect(listed()).toEqual([HOST.id, ids.two]);
      await store.remove(TWO);
      const [left = '', ...others] = await list('roots');
      expect(others).toEqual([]);
      expect(await readdir(at('roots', left, 'root'))).toEqual(['file']);
    },
  );

  it.each([
    ['cut off behind its layers', (text: string) => text.slice(0, text.indexOf('configText'))],
    ['empty', () => ''],
    ['of another image', (text: string) => text.replace(/"id":"sha256:.{4}/, '"id":"sha256:0000')],
  ])('whose record is %s keeps its layers, and nobody else’s', async (_how, damage) => {
    await store.pull(TWO, NEVER);
    await store.pull(ONE, NEVER);
    const own = (await list('roots')).length;
    const record = at('records', `${ids.one.replace(':', '-')}.json`);
    await writeFile(record, damage(await readFile(record, 'utf8')));
    const damaged = await readFile(record, 'utf8');
    const log = new LogRecorder();
    await store.close();
    store = await openStore({ logger: log });
    expect(log.complaints.map(({ message }) => message)).toEqual([
      'The record of an image cannot be read: it has to be pulled again',
    ]);
    expect(own).toBe(2);
    expect(await list('roots')).toHaveLength(2);
    await store.remove(TWO);
    const [left, ...others] = await list('roots');
    expect(others).toEqual([]);
    expect(await readFile(at('roots', left!, 'root', 'file'), 'utf8')).toBe('x'.repeat(10_000));
    expect(await readFile(record, 'utf8')).toBe(damaged);
    // What comes and goes later is cleaned away as ever.
    await store.pull(TWO, NEVER);
    await store.remove(TWO);
    expect(await list('roots')).toEqual([left]);
    // Pulled again it is an image like others.
    await store.pull(ONE, NEVER);
    await store.remove(ONE);
    expect(await list('roots')).toEqual([]);
    expect(await list('records')).toEqual([]);
  });

  it('whose facts are damaged and which nobody needs is cleaned away, what is not ours is not', async () => {
    await store.pull(ONE, NEVER);
    const [root = ''] = await list('roots');
    await writeFile(at('roots', root, 'facts.json'), '');
    await mkdir(at('roots', 'somebody-elses'));
    await rm(at('records', `${ids.one.replace(':', '-')}.json`));
    await reopen();
    expect(await list('roots')).toEqual(['somebody-elses']);
  });

  it('that was being unpacked when the runtime was killed is not there, and nothing of it is left', async () => {
    await mkdir(at('temporary', 'half', 'root'), { recursive: true });
    await writeFile(at('temporary', 'half', 'root', 'file'), 'x');
    await writeFile(at('records', 'x.json.tmp'), '{');
    await reopen();
    expect(listed()).toEqual([HOST.id]);
    await store.close();
    expect(await list('temporary')).toEqual([]);
  });
});

describe('a full disk', () => {
  it('gets room by the removal of an image, although a record cannot be written', async () => {
    await store.pull(ONE, NEVER);
    await store.pull(SAME, NEVER);
    await store.pull(TWO, NEVER);
    await store.prepareRoot({ imageId: ids.two, containerId: 'c', isolated: false, signal: NEVER });
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const sync = vi.spyOn(await commonFileHandle(), 'sync').mockRejectedValue(full);
    try {
      await expect(store.remove(SAME)).rejects.toThrow('ENOSPC');
      await expect(store.remove(ids.two)).rejects.toThrow('ENOSPC');
      expect(listed()).toEqual([HOST.id, ids.one, ids.two]);
      await store.remove(ids.one);
    } finally {
      sync.mockRestore();
    }
    expect(listed()).toEqual([HOST.id, ids.two]);
    expect(await list('records')).toHaveLength(1);
    expect(await list('roots')).toHaveLength(1);
    await reopen();
    expect(listed()).toEqual([HOST.id, ids.two]);
  });
});

describe('the built-in image', () => {
  it('is found by each of its names, can be pulled, and not be removed', async () => {
    for (const name of [HOST_IMAGE, `${HOST_IMAGE}:latest`, HOST.id, HOST.repoDigests[0]!]) {
      expect(store.find(name)).toBe(HOST);
      expect(await store.pull(name, NEVER)).toBe(HOST);
      await expect(store.remove(name)).rejects.toThrow(refusal(status.FAILED_PRECONDITION));
    }
    expect(store.configOf(HOST.id)).toMatchObject({ entrypoint: [], cmd: [] });
    expect(await store.prepareRoot({ imageId: HOST.id, containerId: 'c', signal: NEVER })).toEqual({
      kind: 'host',
    });
    await store.releaseRoot('c');
  });
});

describe("a container's root", () => {
  async function copy(containerId: string, imageId = ids.one): Promise<string> {
    const root = await store.prepareRoot({ imageId, containerId, isolated: false, signal: NEVER });
    if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
    return root.path;
  }

  it('is a copy of its own where it cannot be an overlay', async () => {
    await store.pull(ONE, NEVER);
    const [a, b] = [await copy('a'), await copy('b')];
    await writeFile(join(a, 'file'), 'changed');
    expect(await readFile(join(b, 'file'), 'utf8')).toBe('x'.repeat(10_000));
    expect(await copy('a')).toBe(a);
    expect(await readFile(join(a, 'file'), 'utf8')).toBe('changed');
    await store.releaseRoot('a');
    await store.releaseRoot('a');
    expect(await list('containers')).toEqual(['b']);
  });

  it('has folders of its own where the image wants volumes, through a restart, which count as written', async () => {
    await store.pull(ONE, NEVER);
    const want = {
      imageId: ids.one,
      containerId: 'a',
      isolated: false,
      volumes: ['/data', '/etc'],
      signal: NEVER,
    };
    const root = await store.prepareRoot(want);
    expect(root).toMatchObject({
      volumes: [{ target: '/data' }, { target: '/etc', source: at('containers', 'a', 'volumes', '1') }],
    });
    await writeFile(at('containers', 'a', 'volumes', '0', 'written'), 'y'.repeat(100_000));
    expect((await store.writableUsage('a')).bytes).toBeGreaterThan(100_000n);
    await reopen();
    const { imageId, containerId } = want;
    expect(await store.prepareRoot({ imageId, containerId, isolated: false, signal: NEVER })).toEqual(root);
    await store.releaseRoot('a');
    expect(await list('containers')).toEqual([]);
    const onFile = store.prepareRoot({ ...want, volumes: ['/file'] });
    await expect(onFile).rejects.toThrow('the image wants a volume at "/file", where it has no folder');
    expect(await list('containers')).toEqual([]);
  });

  it.each([
    [['/data', '/data/', '/a/../data'], [], ['/data']],
    [['/data', '/data/sub'], ['/data/'], ['/data/sub']],
    [['/', '..', '/proc/x', '/sys/fs/cgroup', '/dev'], [], []],
    [['relative', '/device'], [], ['/relative', '/device']],
  ])('has them of %j, beside mounts at %j, at %j', (wanted, mounted, paths) => {
    expect(findVolumePaths(wanted, mounted)).toEqual(paths);
  });

  it('keeps its image through its removal and a restart, and lets it go with the last container', async () => {
    await store.pull(ONE, NEVER);
    const path = await copy('a');
    await copy('b');
    await store.remove(ONE);
    expect(store.find(ids.one)).toBeUndefined();
    expect(store.configOf(ids.one).entrypoint).toEqual(['/bin/app']);
    expect(await list('roots')).toHaveLength(1);
    await reopen();
    expect(store.find(ids.one)).toBeUndefined();
    expect(store.configOf(ids.one).entrypoint).toEqual(['/bin/app']);
    expect((await stat(path)).isDirectory()).toBe(true);
    await store.releaseRoot('a');
    expect(await list('roots')).toHaveLength(1);
    await store.releaseRoot('b');
    expect(await list('roots')).toEqual([]);
    expect(() => store.configOf(ids.one)).toThrow(refusal(status.NOT_FOUND));
  });

  it('of an image that is pulled again while in use is of the same files', async () => {
    await store.pull(ONE, NEVER);
    await copy('a');
    await store.remove(ONE);
    expect(await store.pull(SAME, NEVER)).toMatchObject({ id: ids.one, repoTags: [SAME] });
    await store.releaseRoot('a');
    expect(store.find(SAME)?.id).toBe(ids.one);
    expect(await list('roots')).toHaveLength(1);
  });

  it('is refused for an image that is not there, and for ids that are paths', async () => {
    await expect(copy('a')).rejects.toThrow(refusal(status.NOT_FOUND));
    await store.pull(ONE, NEVER);
    for (const id of ['', '.', '..', '../a', 'a/b'])
      await expect(copy(id)).rejects.toThrow(refusal(status.INVALID_ARGUMENT));
    expect(await list('containers')).toEqual([]);
  });

  it('has facts on the disk before anybody counts on it', async () => {
    await store.pull(ONE, NEVER);
    const sync = vi
      .spyOn(await commonFileHandle(), 'sync')
      .mockRejectedValue(new Error('EIO: the disk fails'));
    try {
      await expect(copy('a')).rejects.toThrow('EIO');
    } finally {
      sync.mockRestore();
    }
    expect(await list('containers')).toEqual([]);
    await copy('a');
    expect(await list('containers')).toEqual(['a']);
  });

  it('goes when its container is no more after a restart', async () => {
    await store.pull(ONE, NEVER);
    await copy('alive');
    await copy('dead');
    await store.remove(ONE);
    await reopen();
    await store.restore((id) => ['alive', 'other'].includes(id));
    expect(await list('containers')).toEqual(['alive']);
    await store.restore(() => false);
    expect(await list('roots')).toEqual([]);
  });

  it('keeps the files of its image when its facts are damaged, until it goes with its container', async () => {
    await store.pull(ONE, NEVER);
    const path = await copy('alive');
    await copy('dead');
    await writeFile(at('containers', 'alive', 'facts.json'), '');
    await writeFile(at('containers', 'dead', 'facts.json'), '{}');
    await reopen();
    await store.restore((id) => id === 'alive');
    expect(await list('containers')).toEqual(['alive']);
    await store.remove(ONE);
    expect(await list('roots')).toHaveLength(1);
    expect((await stat(path)).isDirectory()).toBe(true);
    await store.releaseRoot('alive');
    expect(await list('containers')).toEqual([]);
    expect(await list('roots')).toEqual([]);
  });

  it('is made once for two who ask at once, and is gone when released meanwhile', async () => {
    await store.pull(ONE, NEVER);
    const [a, b] = await Promise.all([copy('a'), copy('a')]);
    expect(a).toBe(b);
    const making = copy('b').catch(() => undefined);
    await store.releaseRoot('b');
    await making;
    await store.releaseRoot('b');
    expect(await list('containers')).toEqual(['a']);
  });

  it('that takes long to copy is broken off when it is released, and holds up no other', async () => {
    await store.pull(ONE, NEVER);
    await store.close();
    let copies = 0;
    store = await openStore({
      copyTree: async (_from, to, signal) => {
        await mkdir(to);
        if (copies++ > 0) return;
        await new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      },
    });
    const slow = copy('slow');
    slow.catch(() => undefined);
    await vi.waitUntil(() => copies > 0);
    await copy('other');
    await store.releaseRoot('slow');
    await expect(slow).rejects.toThrow('the container slow is being removed');
    expect(await list('containers')).toEqual(['other']);
    copies = 0;
    const last = copy('last');
    last.catch(() => undefined);
    await vi.waitUntil(() => copies > 0);
    await store.close();
    await expect(last).rejects.toThrow('is being removed');
    expect(await list('temporary')).toEqual([]);
  });

  it('is removed although the container has closed or nested its folders', async () => {
    await store.pull(ONE, NEVER);
    const path = await copy('a');
    await mkdir(join(path, 'shut', 'in'), { recursive: true });
    await writeFile(join(path, 'shut', 'in', 'file'), 'x');
    await chmod(join(path, 'shut'), 0);
    // Deeper than a path can be long.
    const nest = 'i=0; while [ $i -lt 60 ]; do mkdir "$1" && cd -P "$1" || exit; i=$((i + 1)); done';
    await promisify(execFile)('sh', ['-c', nest, 'sh', 'n'.repeat(200)], { cwd: path });
    await store.releaseRoot('a');
    await store.close();
    expect(await list('temporary')).toEqual([]);
  });
});

describe('the room that is taken', () => {
  it('is that of unpacked images, each once, and of what containers have written', async () => {
    expect(await store.usage()).toEqual({
      images: { bytes: 0n, inodes: 0n },
      containers: { bytes: 0n, inodes: 0n },
    });
    await store.pull(ONE, NEVER);
    const { images } = await store.usage();
    expect(images.bytes).toBeGreaterThanOrEqual(10_000n);
    expect(images.inodes).toBe(1n);
    await store.pull(SAME, NEVER);
    await store.pull(TWO, NEVER);
    await reopen();
    expect((await store.usage()).images.inodes).toBe(3n);

    const root = await store.prepareRoot({
      imageId: ids.one,
      containerId: 'a',
      isolated: false,
      signal: NEVER,
    });
    if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
    expect((await store.writableUsage('a')).inodes).toBe(1n);
    await writeFile(join(root.path, 'new'), 'x'.repeat(100_000));
    expect((await store.writableUsage('a')).inodes).toBe(1n);
    await clock.advance(10_000);
    expect(await store.writableUsage('a')).toMatchObject({ inodes: 2n, path: root.path });
    expect((await store.usage()).containers.bytes).toBeGreaterThan(100_000n);
    await store.releaseRoot('a');
    expect(await store.writableUsage('a')).toMatchObject({ inodes: 0n, bytes: 0n, path: '' });
  });
});

describe.runIf(process.getuid?.() === 0)('an overlay', () => {
  it('has the image below and what is written above, and goes with the container', async ({ skip }) => {
    await store.pull(ONE, NEVER);
    const fault = await store.findOverlayFault();
    if (fault !== undefined) skip(fault);
    const root = await store.prepareRoot({ imageId: ids.one, containerId: 'a', signal: NEVER });
    if (root.kind !== 'overlay') throw new Error(`expected an overlay, got ${root.kind}`);
    const { lowerDirs, upperDir, workDir } = root;
    const merged = join(folder, 'merged');
    await mkdir(merged);
    const options = `lowerdir=${lowerDirs.join(':')},upperdir=${upperDir},workdir=${workDir}`;
    const script =
      'mount -t overlay overlay -o "$1" "$2" && cat "$2/file" && rm "$2/file" && echo new > "$2/other"';
    const { stdout } = await promisify(execFile)('unshare', [
      '-m',
      'sh',
      '-c',
      script,
      'sh',
      options,
      merged,
    ]);
    expect(stdout).toBe('x'.repeat(10_000));
    expect(await readFile(join(upperDir, 'other'), 'utf8')).toBe('new\n');
    expect(await readFile(join(lowerDirs[0]!, 'file'), 'utf8')).toBe(stdout);
    expect((await lstat(upperDir)).mode).toBe((await lstat(lowerDirs[0]!)).mode);
    expect((await store.writableUsage('a')).inodes).toBe(2n);
    await store.releaseRoot('a');
    await store.close();
    expect(await list('containers')).toEqual([]);
    expect(await list('temporary')).toEqual([]);
  });
});
