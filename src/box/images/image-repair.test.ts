import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ImageStore } from './image-store.js';

const NEVER = new AbortController().signal;
const CONTENT = 'what the image has';
const LAYERS = [[{ name: 'file', content: CONTENT }], [{ name: 'more', content: CONTENT }]];
const clock = new FakeClock();
let folder: string;
let registry: FakeRegistry;
let log: LogRecorder;
let store: ImageStore;
let image: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-image-repair-'));
  registry = await FakeRegistry.start();
  registry.tag('app:1', registry.layout.addManifest({ layers: LAYERS }).manifest);
  image = `${registry.host}/app:1`;
  log = new LogRecorder();
  await mkdir(join(folder, 'layouts'));
  await open('one boot');
});

afterEach(async () => {
  await store.close();
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function open(bootId: string): Promise<void> {
  store = await ImageStore.open({
    ...{ rootDir: join(folder, 'root'), imageDirs: [join(folder, 'layouts')], logger: log, clock, bootId },
    registry: { configFolders: [], environment: { HOME: folder } },
  });
}

/** What is on the disk at that moment is found by the next one. */
async function reopen(bootId: string): Promise<void> {
  await store.close();
  await open(bootId);
}

/** What was logged of images that are unpacked again. */
const said = (level: 'info' | 'warn'): readonly string[] =>
  log.lines
    .filter((line) => line.level === level && line.message.includes('again'))
    .map(({ message }) => message);
const at = (...parts: string[]): string => join(folder, 'root', 'images', ...parts);

async function chain(...parts: string[]): Promise<string> {
  const [name = 'none'] = await readdir(at('roots'));
  return at('roots', name, ...parts);
}

/** As the file of an image is whose bytes were in memory when the power went. */
async function lose(): Promise<void> {
  await truncate(await chain('root', 'file'), 0);
}

/** What a container of the image finds. */
async function readFromContainer(): Promise<string> {
  const { id } = store.get(image);
  const root = await store.prepareRoot({ imageId: id, containerId: 'c', isolated: false });
  if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
  const text = await readFile(join(root.path, 'file'), 'utf8');
  await store.releaseRoot('c');
  return text;
}

const isUnsynced = async (): Promise<boolean> =>
  (await readFile(await chain('facts.json'), 'utf8')).includes('one boot');

describe('an image of a registry that was pulled a moment before a loss of power', () => {
  it('is whole at the next boot, without the registry', async () => {
    await store.pull(image, NEVER);
    expect(await isUnsynced()).toBe(true);
    await lose();
    await registry[Symbol.asyncDispose]();
    await reopen('the next boot');
    // It was pulled, and nobody has to wait to see that.
    expect(store.find(image)).toBeDefined();
    expect(await readFromContainer()).toBe(CONTENT);
    expect(said('info')).toEqual([expect.stringContaining('Unpacking an image again')]);
    await expect.poll(() => readdir(at('temporary'))).toEqual([]);
  });

  it('is unpacked again only once where it is pulled and used at the same time', async () => {
    await store.pull(image, NEVER);
    await lose();
    await reopen('the next boot');
    const [text] = await Promise.all([
      readFromContainer(),
      store.pull(image, NEVER),
      store.pull(image, NEVER),
    ]);
    expect(text).toBe(CONTENT);
    expect(await readdir(at('roots'))).toHaveLength(1);
  });

  it('stays as it is within the same boot: what a killed runtime has written is there', async () => {
    await store.pull(image, NEVER);
    const before = await stat(await chain('root'));
    await reopen('one boot');
    expect(await readFromContainer()).toBe(CONTENT);
    expect((await stat(await chain('root'))).ino).toBe(before.ino);
  });

  it('has to be pulled again where its stored layers are not whole either', async () => {
    await store.pull(image, NEVER);
    await lose();
    await store.close();
    for (const name of await readdir(at('blobs'))) await writeFile(at('blobs', name), 'damaged');
    await open('the next boot');
    await expect.poll(() => store.find(image)).toBeUndefined();
    expect(said('warn')).toEqual([expect.stringContaining('has to be pulled again')]);
    await store.pull(image, NEVER);
    expect(await readFromContainer()).toBe(CONTENT);
  });

  it('goes with its removal, also before it was unpacked again', async () => {
    await store.pull(image, NEVER);
    await reopen('the next boot');
    await store.remove(image);
    for (const name of ['roots', 'blobs', 'records', 'temporary'])
      await expect.poll(() => readdir(at(name))).toEqual([]);
  });
});

it('what was synced meanwhile is used as it is at the next boot', async () => {
  await store.pull(image, NEVER);
  const before = await stat(await chain('root'));
  await clock.advance(60_000);
  await expect.poll(isUnsynced).toBe(false);
  await reopen('the next boot');
  expect(await readFromContainer()).toBe(CONTENT);
  expect((await stat(await chain('root'))).ino).toBe(before.ino);
  expect(said('info')).toEqual([]);
});

describe('an image of a folder, whose layers are not stored', () => {
  beforeEach(async () => {
    image = 'example.test/app:1';
    const layout = new OciLayout();
    layout.addImage({ names: [image], layers: LAYERS });
    await writeFile(join(folder, 'layouts', 'app.tar'), layout.toTar());
  });

  it('is on the disk when its pull is confirmed', async () => {
    await store.pull(image, NEVER);
    expect(await isUnsynced()).toBe(false);
  });

  it('is so, too, where one of a registry with the same layers was unpacked before', async () => {
    await store.pull(`${registry.host}/app:1`, NEVER);
    expect(await isUnsynced()).toBe(true);
    await store.pull(image, NEVER);
    expect(await isUnsynced()).toBe(false);
  });
});
