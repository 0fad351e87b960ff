import { mkdir, mkdtemp, readdir, readFile, readlink, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OciLayout, type ImageToMake } from '#support/fakes/oci-layout.js';
import { packRaw, packTar } from '#support/builders/pack-tar.js';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { HOST_IMAGE } from './host-image.js';
import { ImageStore } from './image-store.js';
import { sha256Of } from './archive/digest.js';

const NEVER = new AbortController().signal;
const NAME = 'example.test/app:1';
const clock = new FakeClock();
let folder: string;
let imageDir: string;
let store: ImageStore;

/** Whether this process reads that file. */
async function isOpen(path: string): Promise<boolean> {
  const fds = await readdir('/proc/self/fd');
  const targets = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.includes(path);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-images-'));
  imageDir = join(folder, 'layouts');
  await mkdir(imageDir);
  store = await openStore();
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

function openStore(imageDirs: readonly string[] = [imageDir]): Promise<ImageStore> {
  return ImageStore.open({ rootDir: join(folder, 'root'), imageDirs, logger: SILENT_LOGGER, clock });
}

async function reopen(): Promise<void> {
  await store.close();
  store = await openStore();
}

async function save(name: string, layout: OciLayout): Promise<void> {
  if (name.endsWith('.tar')) {
    await writeFile(join(imageDir, name), layout.toTar());
    return;
  }
  for (const [path, content] of layout.toFiles()) {
    const file = join(imageDir, name, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

function anImage(more: Partial<ImageToMake> = {}): ImageToMake {
  return { names: [NAME], layers: [[{ name: 'etc/' }, { name: 'etc/motd', content: 'hello' }]], ...more };
}

async function saveOne(more: Partial<ImageToMake> = {}, file = 'a.tar'): Promise<string> {
  const layout = new OciLayout();
  const { id } = layout.addImage(anImage(more));
  await save(file, layout);
  return id;
}

async function readRoot(reference: string, path: string): Promise<string> {
  const { id } = store.get(reference);
  const root = await store.prepareRoot({
    imageId: id,
    containerId: 'reader',
    isolated: false,
    signal: NEVER,
  });
  try {
    if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
    return await readFile(join(root.path, path), 'utf8');
  } finally {
    await store.releaseRoot('reader');
  }
}

function unpacked(): Promise<string[]> {
  return readdir(join(folder, 'root', 'images', 'roots'));
}

const refusal = (code: status) => expect.objectContaining({ code }) as Error;

describe('pulling an image', () => {
  it.each(['a.tar', 'a'])('finds it in a layout that is %s', async (file) => {
    const id = await saveOne({}, file);
    const image = await store.pull(NAME, NEVER);
    expect(image).toMatchObject({ id, repoTags: [NAME] });
    expect(image.repoDigests[0]).toMatch(/^example\.test\/app@sha256:/);
    expect(await readRoot(NAME, 'etc/motd')).toBe('hello');
  });

  it('finds it where the image folder is a layout itself', async () => {
    const id = await saveOne({}, '.');
    expect((await store.pull(NAME, NEVER)).id).toBe(id);
  });

  it('finds it compressed with gzip', async () => {
    await saveOne({ compression: 'gzip' });
    await store.pull(NAME, NEVER);
    expect(await readRoot(NAME, 'etc/motd')).toBe('hello');
  });

  it('finds it by every form of its name', async () => {
    const id = await saveOne({ names: ['docker.io/library/app:latest'] });
    for (const name of ['app', 'app:latest', 'docker.io/app', 'library/app', 'index.docker.io/library/app'])
      expect((await store.pull(name, NEVER)).id).toBe(id);
    expect(store.find('app')?.repoTags).toEqual(['docker.io/library/app:latest']);
  });

  it('finds it by the digest of its manifest under any name, and by its id', async () => {
    const layout = new OciLayout();
    const { id, manifest } = layout.addImage(anImage({ names: [] }));
    await save('a', layout);
    const image = await store.pull(`other.test/x:2@${manifest.digest}`, NEVER);
    expect(image).toMatchObject({ id, repoTags: [], repoDigests: [`other.test/x@${manifest.digest}`] });
    expect((await store.pull(id, NEVER)).id).toBe(id);
    expect((await store.pull(manifest.digest, NEVER)).id).toBe(id);
  });

  it('does not find it once it is pulled by digest under a tag', async () => {
    const layout = new OciLayout();
    const { manifest } = layout.addImage(anImage());
    await save('a', layout);
    await store.pull(`example.test/app@${manifest.digest}`, NEVER);
    expect(store.find(NAME)).toBeUndefined();
  });

  it('chooses from an index what is for this machine', async () => {
    const layout = new OciLayout();
    const other = layout.addManifest(anImage({ architecture: 'pdp11' }));
    const mine = layout.addManifest(anImage());
    const platform = { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch };
    const attestation = { ...other.manifest, platform: { os: 'unknown', architecture: 'unknown' } };
    const inner = layout.addIndex([
      attestation,
      { ...other.manifest, platform: { os: 'linux', architecture: 'pdp11' } },
      { ...mine.manifest, platform },
    ]);
    const outer = layout.addIndex([inner]);
    layout.addEntry({ ...outer, annotations: { 'io.containerd.image.name': NAME } });
    await save('a.tar', layout);
    const image = await store.pull(NAME, NEVER);
    expect(image).toMatchObject({ id: mine.id, repoDigests: [`example.test/app@${outer.digest}`] });
    expect((await store.pull(`x@${mine.manifest.digest}`, NEVER)).id).toBe(mine.id);
    await expect(store.pull(`x@${other.manifest.digest}`, NEVER)).rejects.toThrow('pdp11');
  });

  it('says so when it is there for other machines only', async () => {
    await saveOne({ architecture: 'pdp11' });
    await expect(store.pull(NAME, NEVER)).rejects.toThrow(refusal(status.NOT_FOUND));
    await expect(store.pull(NAME, NEVER)).rejects.toThrow(/not for linux\/.*it has linux\/pdp11/);
  });

  it('takes an image that does not say what it is for', async () => {
    const id = await saveOne({ architecture: null });
    expect((await store.pull(NAME, NEVER)).id).toBe(id);
  });

  it('takes names from the annotation of the OCI specification: whole, or a tag of the file name', async () => {
    const layout = new OciLayout();
    const { id, manifest } = layout.addManifest(anImage());
    for (const name of ['example.test/whole:2', 'v3'])
      layout.addEntry({ ...manifest, annotations: { 'org.opencontainers.image.ref.name': name } });
    await save('short.tar', layout);
    expect((await store.pull('example.test/whole:2', NEVER)).id).toBe(id);
    expect((await store.pull('short:v3', NEVER)).id).toBe(id);
    await expect(store.pull('short', NEVER)).rejects.toThrow(refusal(status.NOT_FOUND));
  });

  it('takes what docker save wrote before it wrote OCI layouts', async () => {
    const layer = packTar([{ name: 'etc/motd', content: 'old' }]);
    const config = JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Cmd: ['sh'] },
      rootfs: { type: 'layers', diff_ids: [sha256Of(layer), sha256Of(layer)] },
    });
    const manifest = [{ Config: 'c.json', RepoTags: ['old:1'], Layers: ['one/layer.tar', 'two/layer.tar'] }];
    await writeFile(
      join(imageDir, 'old.tar'),
      packTar([
        { name: 'c.json', content: config },
        { name: 'one/layer.tar', content: layer },
        { name: 'two/layer.tar', linkTo: '../one/layer.tar' },
        { name: 'manifest.json', content: JSON.stringify(manifest) },
      ]),
    );
    const image = await store.pull('old:1', NEVER);
    expect(image).toMatchObject({ id: sha256Of(config), repoTags: ['docker.io/library/old:1'] });
    expect(await readRoot('old:1', 'etc/motd')).toBe('old');
    const digest = image.repoDigests[0]!;
    await reopen();
    expect((await store.pull(digest, NEVER)).id).toBe(image.id);
  });

  it('walks indexes that name one another over and over once', async () => {
    const layout = new OciLayout();
    const { id, manifest } = layout.addManifest(anImage());
    const other = layout.addManifest(anImage({ architecture: 'other' })).manifest;
    let index = layout.addIndex([...Array.from({ length: 1_999 }, () => other), manifest]);
    for (let depth = 0; depth < 2; depth++)
      index = layout.addIndex(Array.from({ length: 2_000 }, () => index));
    layout.addEntry({ ...index, annotations: { 'io.containerd.image.name': NAME } });
    await save('a.tar', layout);
    expect((await store.pull(NAME, NEVER)).id).toBe(id);
    expect((await store.pull(id, NEVER)).id).toBe(id);
  });

  it('stops reading what docker save wrote when nobody waits for it any more', async () => {
    const config = JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: [`sha256:${'0'.repeat(64)}`] },
    });
    const path = join(imageDir, 'huge.tar');
    const size = 2 ** 40;
    const head = packTar([
      { name: 'c.json', content: config },
      {
        name: 'manifest.json',
        content: JSON.stringify([{ Config: 'c.json', RepoTags: ['huge:1'], Layers: ['l'] }]),
      },
      { name: 'l', claims: { size } },
    ]);
    await writeFile(path, head);
    // Holes: it takes no room, and hours to read.
    await truncate(path, head.length + size);
    const leaving = new AbortController();
    const pulls = ['huge:1', NAME].map((name) => store.pull(name, leaving.signal));
    for (const pull of pulls) pull.catch(() => undefined);
    await vi.waitUntil(() => isOpen(path));
    leaving.abort(new Error('gone'));
    for (const pull of pulls) await expect(pull).rejects.toThrow('gone');
    await rm(path);
    const id = await saveOne();
    expect((await store.pull(NAME, NEVER)).id).toBe(id);
  });

  it('unpacks layers that two images share once, and pulls at the same time too', async () => {
    const layout = new OciLayout();
    layout.addImage(anImage());
    layout.addImage(anImage({ names: ['example.test/two:1'], config: { Cmd: ['two'] } }));
    await save('a.tar', layout);
    const names = [NAME, 'example.test/two:1', NAME, 'example.test/two:1'];
    const images = await Promise.all(names.map((name) => store.pull(name, NEVER)));
    expect(new Set(images.map(({ id }) => id)).size).toBe(2);
    expect(await unpacked()).toHaveLength(1);
    expect(store.images).toHaveLength(3);
  });

  it('goes on for the others when one of those who wait leaves', async () => {
    const id = await saveOne();
    const leaving = new AbortController();
    const [left, stayed] = [store.pull(NAME, leaving.signal), store.pull(NAME, NEVER)];
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect((await stayed).id).toBe(id);
  });

  it('that nobody waits for leaves nothing', async () => {
    await saveOne();
    await expect(store.pull(NAME, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(await unpacked()).toEqual([]);
    expect(store.find(NAME)).toBeUndefined();
  });

  it('finds a layout that came later, and a newer image of the same name', async () => {
    await expect(store.pull(NAME, NEVER)).rejects.toThrow(refusal(status.NOT_FOUND));
    const first = await saveOne();
    expect((await store.pull(NAME, NEVER)).id).toBe(first);
    const second = await saveOne({ config: { Cmd: ['newer'] } });
    expect((await store.pull(NAME, NEVER)).id).toBe(second);
    expect(store.find(NAME)?.id).toBe(second);
    expect(store.find(first)).toMatchObject({ id: first, repoTags: [] });
    await reopen();
    expect(store.find(NAME)?.id).toBe(second);
    expect(store.find(first)?.repoTags).toEqual([]);
  });

  it('takes the first of two folders that have the name', async () => {
    const other = join(folder, 'other');
    await mkdir(other);
    const layout = new OciLayout();
    const { id } = layout.addImage(anImage({ config: { Cmd: ['first'] } }));
    await writeFile(join(other, 'z.tar'), layout.toTar());
    await saveOne();
    await store.close();
    store = await openStore([other, imageDir]);
    expect((await store.pull(NAME, NEVER)).id).toBe(id);
  });
});

describe('an image that is not found', () => {
  it('is NOT_FOUND, with what was searched and what is there', async () => {
    await saveOne();
    await store.close();
    store = await openStore([imageDir, join(folder, 'missing')]);
    const pull = store.pull('nobody', NEVER);
    await expect(pull).rejects.toThrow(refusal(status.NOT_FOUND));
    for (const part of [
      'docker.io/library/nobody:latest',
      `${imageDir} (1 layout)`,
      'ENOENT',
      NAME,
      HOST_IMAGE,
    ])
      await expect(pull).rejects.toThrow(part);
  });

  it('is called what it was asked for', async () => {
    const reference = `example.test/x@${sha256Of('nothing')}`;
    await expect(store.pull(reference, NEVER)).rejects.toThrow(`image "${reference}" was not found`);
    await expect(store.pull(sha256Of('nothing'), NEVER)).rejects.toThrow(`image "${sha256Of('nothing')}"`);
  });

  it('is not hidden by a layout that is damaged, nor by other files', async () => {
    await writeFile(join(imageDir, '0.tar'), 'no archive at all');
    await writeFile(join(imageDir, 'notes.txt'), 'notes');
    await mkdir(join(imageDir, 'broken'));
    await writeFile(join(imageDir, 'broken', 'index.json'), '{ no json');
    await mkdir(join(imageDir, 'empty'));
    await writeFile(join(imageDir, 'b.tar.gz'), 'compressed');
    const id = await saveOne({}, 'z.tar');
    expect((await store.pull(NAME, NEVER)).id).toBe(id);
    const pull = store.pull('nobody', NEVER);
    for (const part of [
      '0.tar: the archive is damaged',
      'broken: index.json',
      'not JSON',
      'b.tar.gz is compressed',
    ])
      await expect(pull).rejects.toThrow(part);
  });

  it.each([
    ['is another document', () => Buffer.from('{}')],
    ['is cut', (manifest: Buffer) => manifest.subarray(0, 40)],
  ])('is not hidden by another image whose manifest %s', async (_what, damage) => {
    const broken = new OciLayout();
    const { manifest } = broken.addImage(anImage({ names: ['example.test/broken:1'], layers: [] }));
    const whole = broken.toFiles().get(`blobs/${manifest.digest.replace(':', '/')}`)!;
    broken.corruptBlob(manifest.digest, damage(whole));
    broken.addEntry(broken.addJson(manifest.mediaType, {}));
    await save('a-broken.tar', broken);
    const good = new OciLayout();
    const made = good.addImage(anImage({ names: [] }));
    await save('b.tar', good);
    expect((await store.pull(made.id, NEVER)).id).toBe(made.id);
    await reopen();
    expect((await store.pull(`x.test/y@${made.manifest.digest}`, NEVER)).id).toBe(made.id);
    const pull = store.pull(sha256Of('nothing'), NEVER);
    await expect(pull).rejects.toThrow(refusal(status.NOT_FOUND));
    for (const part of [`searched ${imageDir} (2 layouts)`, 'a-broken.tar:', manifest.digest])
      await expect(pull).rejects.toThrow(part);
    await expect(store.pull('example.test/broken:1', NEVER)).rejects.toThrow(
      refusal(status.FAILED_PRECONDITION),
    );
  });

  it('is found by its digest behind a layout in which it is damaged, and damaged where there is no other', async () => {
    const damaged = new OciLayout();
    const { manifest, id } = damaged.addImage(anImage());
    damaged.corruptBlob(manifest.digest, Buffer.from('{}'));
    await save('a.tar', damaged);
    const reference = `example.test/app@${manifest.digest}`;
    await expect(store.pull(reference, NEVER)).rejects.toThrow(refusal(status.FAILED_PRECONDITION));
    await saveOne({}, 'b.tar');
    expect((await store.pull(reference, NEVER)).id).toBe(id);
    await expect(store.pull(NAME, NEVER)).rejects.toThrow(refusal(status.FAILED_PRECONDITION));
  });

  it.each(['', 'UPPER', 'a@sha256:12', 'a b'])(
    'because "%s" is no reference is INVALID_ARGUMENT',
    async (text) => {
      await expect(store.pull(text, NEVER)).rejects.toThrow(refusal(status.INVALID_ARGUMENT));
      expect(store.find(text)).toBeUndefined();
      await store.remove(text);
    },
  );
});

describe('an image that is not what it says', () => {
  async function expectRefused(layout: OciLayout, code: status, text: string | RegExp): Promise<void> {
    await save('bad.tar', layout);
    const pull = store.pull(NAME, NEVER);
    await expect(pull).rejects.toThrow(refusal(code));
    await expect(pull).rejects.toThrow(text);
    expect(store.images).toHaveLength(1);
    expect(await unpacked()).toEqual([]);
  }

  it.each(['config', 'manifest'] as const)('in its %s is refused', async (which) => {
    const layout = new OciLayout();
    const { id, manifest } = layout.addImage(anImage());
    layout.corruptBlob(which === 'config' ? id : manifest.digest, Buffer.alloc(manifest.size, ' '));
    await expectRefused(layout, status.FAILED_PRECONDITION, /not what the image says/);
  });

  it.each(['none', 'gzip'] as const)('in a layer (compression: %s) is refused', async (compression) => {
    const layout = new OciLayout();
    const good = packTar([{ name: 'a', content: 'good' }]);
    const evil = packTar([{ name: 'a', content: 'evil' }]);
    layout.addImage(anImage({ layers: [good], compression }));
    const swapped = new OciLayout();
    swapped.addImage(anImage({ layers: [evil], compression }));
    const layerOf = (made: OciLayout) => {
      const files = [...made.toFiles()].filter(([name]) => name.startsWith('blobs/'));
      return files.find(([, content]) => !content.toString('latin1').startsWith('{'))!;
    };
    const digest = layerOf(layout)[0].slice('blobs/'.length).replace('/', ':');
    layout.corruptBlob(digest, layerOf(swapped)[1]);
    await expectRefused(layout, status.FAILED_PRECONDITION, /its digest is|bytes instead of|longer than/);
  });

  it('in what comes out of a compressed layer is refused', async () => {
    const layout = new OciLayout();
    const made = layout.addManifest(anImage({ compression: 'gzip' }));
    const manifest = JSON.parse(
      layout
        .toFiles()
        .get(`blobs/${made.manifest.digest.replace(':', '/')}`)!
        .toString(),
    ) as { config: object; layers: object[] };
    const lying = layout.addJson('application/vnd.oci.image.config.v1+json', {
      rootfs: { type: 'layers', diff_ids: [sha256Of('something else')] },
    });
    const changed = layout.addJson('application/vnd.oci.image.manifest.v1+json', {
      ...manifest,
      schemaVersion: 2,
      config: lying,
    });
    layout.addEntry({ ...changed, annotations: { 'io.containerd.image.name': NAME } });
    await expectRefused(layout, status.FAILED_PRECONDITION, /the archive of layer .* its digest is/);
  });

  it('by a blob that is missing is refused', async () => {
    const layout = new OciLayout();
    const { manifest } = layout.addImage(anImage());
    const files = layout.toFiles();
    const layer = [...files].find(([, content]) => content.length > 1024)![0];
    files.delete(layer);
    await writeFile(
      join(imageDir, 'bad.tar'),
      packTar([...files].map(([name, content]) => ({ name, content }))),
    );
    await expect(store.pull(`x@${manifest.digest}`, NEVER)).rejects.toThrow('has no blob');
    expect(await unpacked()).toEqual([]);
  });

  it('by more layers than its config speaks of is refused', async () => {
    const layout = new OciLayout();
    const config = layout.addJson('application/vnd.oci.image.config.v1+json', { rootfs: { diff_ids: [] } });
    const layer = layout.addBlob('application/vnd.oci.image.layer.v1.tar', packTar([]));
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = layout.addJson(mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
    layout.addEntry({ ...manifest, annotations: { 'io.containerd.image.name': NAME } });
    await expectRefused(layout, status.UNKNOWN, 'has 1 layers, and its config speaks of 0');
  });

  it('with a layer of another kind is refused as not supported', async () => {
    const layout = new OciLayout();
    const content = packTar([]);
    const config = layout.addJson('application/vnd.oci.image.config.v1+json', {
      rootfs: { diff_ids: [sha256Of(content)] },
    });
    const layer = layout.addBlob('application/vnd.in-toto+json', content);
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = layout.addJson(mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
    layout.addEntry({ ...manifest, annotations: { 'io.containerd.image.name': NAME } });
    await expectRefused(layout, status.UNIMPLEMENTED, 'in-toto');
  });

  it.each([
    ['cut off', packTar([{ name: 'a', content: 'x'.repeat(5_000) }]).subarray(0, 3_000)],
    ['with a header that claims gigabytes', Buffer.concat(packRaw('x', 'x', Buffer.alloc(2 * 1024 ** 2)))],
    ['that climbs out', packTar([{ name: '../../evil', content: 'x' }])],
    ['that is larger than a disk', packTar([{ name: 'a', claims: { size: 2 ** 45 } }])],
  ])('with a layer %s is refused, and nothing of it stays', async (_what, layer) => {
    const layout = new OciLayout();
    layout.addImage(anImage({ layers: [layer] }));
    await save('bad.tar', layout);
    await expect(store.pull(NAME, NEVER)).rejects.toThrow(/damaged|leads out|has more than/);
    await store.close();
    expect(await unpacked()).toEqual([]);
    expect(await readdir(join(folder, 'root', 'images', 'temporary'))).toEqual([]);
  });
});
