/** The ImageService of the embedded runtime, as a client sees it over a real socket. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { EmbeddedRuntime } from '../../src/box/index.js';
import { OciLayout } from '#support/fakes/oci-layout.js';

const NAMES = ['example.test/many:1', 'example.test/many:2', 'example.test/many:3'];
const OTHER = 'example.test/other:1';
let folder: string;
let runtime: EmbeddedRuntime;
let client: CriClient;
let ids: { readonly many: string; readonly other: string };
let otherDigest: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-images-'));
  const layout = new OciLayout();
  const layers = [[{ name: 'etc/motd', content: 'hello'.repeat(10_000) }]];
  const many = layout.addImage({ names: NAMES, layers, config: { User: '1002' } });
  const other = layout.addImage({ names: [OTHER], layers, config: { User: 'www', Cmd: ['x'] } });
  ids = { many: many.id, other: other.id };
  otherDigest = other.manifest.digest;
  await mkdir(join(folder, 'images'));
  await writeFile(join(folder, 'images', 'a.tar'), layout.toTar());
  const listen = `unix://${folder}/cri.sock`;
  runtime = await EmbeddedRuntime.start({
    listen,
    rootDir: join(folder, 'root'),
    imageDirs: [join(folder, 'images')],
  });
  client = new CriClient({ endpoint: listen });
});

afterAll(async () => {
  client.close();
  await runtime.close();
  await rm(folder, { recursive: true, force: true });
});

const pull = async (image: string) => (await client.pullImage({ image: { image } })).imageRef;
const find = async (image: string) => (await client.imageStatus({ image: { image } })).image;
const listIds = async () => (await client.listImages({})).images.map(({ id }) => id).slice(1);

describe('an image of the embedded runtime', () => {
  it('is listed from its pull to its removal', async () => {
    expect(await find(OTHER)).toBeUndefined();
    expect(await listIds()).toEqual([]);
    expect(await pull(OTHER)).toBe(ids.other);
    expect(await listIds()).toEqual([ids.other]);
    expect(await find(OTHER)).toMatchObject({
      id: ids.other,
      repoTags: [OTHER],
      repoDigests: [`example.test/other@${otherDigest}`],
      username: 'www',
    });
    await client.removeImage({ image: { image: OTHER } });
    await client.removeImage({ image: { image: OTHER } });
    expect(await find(OTHER)).toBeUndefined();
    expect(await listIds()).toEqual([]);
  });

  it('is one image under three tags, and goes with the removal of one', async () => {
    for (const name of NAMES) expect(await pull(name)).toBe(ids.many);
    expect(await find(ids.many)).toMatchObject({ repoTags: NAMES, uid: { value: 1002n } });
    const { images } = await client.listImages({ filter: { image: { image: NAMES[1]! } } });
    expect(images.map(({ id }) => id)).toEqual([ids.many]);
    await client.removeImage({ image: { image: ids.many } });
    for (const name of NAMES) expect(await find(name)).toBeUndefined();
  });

  it('is found by its digest', async () => {
    const name = `example.test/other@${otherDigest}`;
    expect(await pull(name)).toBe(ids.other);
    expect(await find(name)).toMatchObject({ id: ids.other, repoTags: [], repoDigests: [name] });
    await client.removeImage({ image: { image: name } });
    expect(await listIds()).toEqual([]);
  });

  it('tells its config when asked to be verbose', async () => {
    await pull(OTHER);
    const { info } = await client.imageStatus({ image: { image: OTHER }, verbose: true });
    expect(JSON.parse(info['info'] ?? '')).toMatchObject({
      chainID: expect.stringMatching(/^sha256:/) as string,
      imageSpec: { os: 'linux', config: { Cmd: ['x'], User: 'www' } },
    });
    expect((await client.imageStatus({ image: { image: OTHER } })).info).toEqual({});
  });

  it('takes room on the disk, which is given back', async () => {
    const used = async () => {
      const { imageFilesystems } = await client.imageFsInfo({});
      return imageFilesystems[0]?.usedBytes?.value;
    };
    await pull(OTHER);
    expect(await used()).toBeGreaterThanOrEqual(50_000n);
    await client.removeImage({ image: { image: OTHER } });
    expect(await used()).toBe(0n);
  });

  it('that is nowhere is not found, and a name that is none is refused', async () => {
    await expect(pull('nobody')).rejects.toMatchObject({ code: 'CRI_NOT_FOUND' });
    await expect(pull('nobody')).rejects.toThrow(join(folder, 'images'));
    await expect(pull('No Body')).rejects.toMatchObject({ code: 'CRI_INVALID_ARGUMENT' });
    expect(await find('No Body')).toBeUndefined();
  });
});
