import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ImageStore } from './image-store.js';
import { UNPACK_LIMITS } from './archive/unpack-limits.js';

const NEVER = new AbortController().signal;
const CONTENT = 'what the image has';
const LAYERS = [[{ name: 'file', content: CONTENT }], [{ name: 'more', content: CONTENT }]];
const clock = new FakeClock();
/** Of a disk that has room; {@link fillDisk} makes it look full. */
const limits = { ...UNPACK_LIMITS };
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
  Object.assign(limits, UNPACK_LIMITS);
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
    ...{
      rootDir: join(folder, 'root'),
      imageDirs: [join(folder, 'layouts')],
      logger: log,
      clock,
      bootId,
      limits,
    },
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
  const root = await store.prepareRoot({ imageId: id, containerId: 'c', isolated: false, signal: NEVER });
  if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
  const text = await readFile(join(root.path, 'file'), 'utf8');
  await store.releaseRoot('c');
  return text;
}

/** From now on unpacking finds too little room, whatever the disk has. */
function fillDisk(): void {
  Object.assign(limits, { freeBytes: Number.MAX_SAFE_INTEGER, freeShare: 2 });
}

/** Puts other bytes of the same length into the stored layers, as a bad disk does: into all that is no JSON. */
async function damageLayers(): Promise<void> {
  for (const name of await readdir(at('blobs'))) {
    const content = await readFile(at('blobs', name));
    if (content[0] !== 0x7b) await writeFile(at('blobs', name), content.fill(0x7a, 100));
  }
}

const refused = (why: string): unknown =>
  expect.objectContaining({
    code: status.FAILED_PRECONDITION,
    message: expect.stringContaining(why) as string,
  });

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

  it('is refused to a container that waits for it where a stored layer turns out to be damaged', async () => {
    const { id } = await store.pull(image, NEVER);
    await lose();
    await store.close();
    await damageLayers();
    await open('the next boot');
    const waiting = store.prepareRoot({ imageId: id, containerId: 'c', isolated: false, signal: NEVER });
    await expect(waiting).rejects.toEqual(refused('not all files of image'));
    await expect(waiting).rejects.toEqual(refused('it has to be pulled again'));
    expect(await readdir(at('containers'))).toEqual([]);
    // Nobody starts it later either.
    const later = store.prepareRoot({ imageId: id, containerId: 'c', isolated: false, signal: NEVER });
    await expect(later).rejects.toEqual(refused('it has to be pulled again'));
    expect(store.find(image)).toBeUndefined();
    // The damaged layers are fetched, and not taken from the disk.
    await store.pull(image, NEVER);
    expect(await readFromContainer()).toBe(CONTENT);
  });

  it('is refused to a container that has it from before, also where it was removed meanwhile', async () => {
    const { id } = await store.pull(image, NEVER);
    const want = { imageId: id, containerId: 'c', isolated: false, signal: NEVER };
    await store.prepareRoot(want);
    await store.remove(image);
    await lose();
    await reopen('the next boot');
    await expect(store.prepareRoot(want)).rejects.toEqual(refused('it has to be pulled again'));
    await store.releaseRoot('c');
    await expect.poll(() => readdir(at('roots'))).toEqual([]);
  });

  it('is whole for a container that has it from before and was removed, where another image shares it', async () => {
    const { id } = await store.pull(image, NEVER);
    const want = { imageId: id, containerId: 'c', isolated: false, signal: NEVER };
    await store.prepareRoot(want);
    registry.tag('app:2', registry.layout.addManifest({ layers: LAYERS, config: { User: '7' } }).manifest);
    await store.pull(`${registry.host}/app:2`, NEVER);
    await store.remove(image);
    await lose();
    await reopen('the next boot');
    expect(await store.prepareRoot(want)).toMatchObject({ kind: 'folder' });
    expect(await readFile(await chain('root', 'file'), 'utf8')).toBe(CONTENT);
    await store.releaseRoot('c');
  });

  it('does not hold up a caller who leaves', async () => {
    const { id } = await store.pull(image, NEVER);
    await reopen('the next boot');
    const caller = new AbortController();
    const waiting = store.prepareRoot({
      imageId: id,
      containerId: 'c',
      isolated: false,
      signal: caller.signal,
    });
    const reason = new Error('the caller is gone');
    caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(await readFromContainer()).toBe(CONTENT);
  });

  it('is refused where the runtime ends before it is unpacked again', async () => {
    const { id } = await store.pull(image, NEVER);
    await lose();
    await reopen('the next boot');
    const waiting = store.prepareRoot({ imageId: id, containerId: 'c', isolated: false, signal: NEVER });
    const refusal = expect(waiting).rejects.toThrow('the runtime is ending');
    await store.close();
    await refusal;
    expect(await readdir(at('containers'))).toEqual([]);
    await open('the next boot');
    expect(await readFromContainer()).toBe(CONTENT);
  });

  it('stays in the list while the disk is full, and is unpacked again once there is room', async () => {
    const { id } = await store.pull(image, NEVER);
    await lose();
    await store.close();
    fillDisk();
    await open('the next boot');
    await expect.poll(() => said('warn')).toEqual([expect.stringContaining('which is tried later')]);
    expect(store.find(image)).toBeDefined();
    const refusedNow = store.prepareRoot({ imageId: id, containerId: 'c', isolated: false, signal: NEVER });
    await expect(refusedNow).rejects.toEqual(refused('MiB are left on the disk of images'));
    Object.assign(limits, UNPACK_LIMITS);
    await expect.poll(() => clock.nextTimerInMs).toBe(10_000);
    await clock.advance(10_000);
    await expect.poll(async () => readFile(await chain('root', 'file'), 'utf8')).toBe(CONTENT);
    expect(await readFromContainer()).toBe(CONTENT);
  });

  it('is unpacked by what is stored of another image with the same files where its own is not', async () => {
    const other = `${registry.host}/app:2`;
    const { manifest } = registry.layout.addManifest({ layers: LAYERS });
    registry.tag('app:2', registry.layout.addManifest({ layers: LAYERS, config: { User: '7' } }).manifest);
    await store.pull(image, NEVER);
    await store.pull(other, NEVER);
    await lose();
    await store.close();
    await rm(at('blobs', manifest.digest.replace(':', '-')));
    await open('the next boot');
    expect(await readFromContainer()).toBe(CONTENT);
    expect(store.find(other)).toBeDefined();
    expect(said('warn')).toEqual([]);
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

it('is on the disk when a pull is confirmed that has fetched no layer, as its files were unpacked before', async () => {
  await store.pull(image, NEVER);
  expect(await isUnsynced()).toBe(true);
  const squeezed = registry.layout.addManifest({ layers: LAYERS, compression: 'gzip' });
  registry.tag('app:gzip', squeezed.manifest);
  await store.pull(`${registry.host}/app:gzip`, NEVER);
  expect(await isUnsynced()).toBe(false);
});

it.each(['none', 'gzip'] as const)(
  'is fetched again where its stored layers have been damaged since, compressed by %s',
  async (compression) => {
    const content = randomBytes(2_000).toString('hex');
    const layers = [[{ name: 'file', content }]];
    registry.tag('app:2', registry.layout.addManifest({ layers, compression }).manifest);
    image = `${registry.host}/app:2`;
    // The layer was fetched by a pull that found no room to unpack it.
    await store.pull(image, NEVER);
    await store.close();
    for (const name of await readdir(at('roots')))
      await rm(at('roots', name, 'facts.json'), { recursive: true });
    await damageLayers();
    await open('one boot');
    await expect(store.pull(image, NEVER)).rejects.toEqual(refused('is not what the image says'));
    await store.pull(image, NEVER);
    expect(await readFromContainer()).toBe(content);
  },
);

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
