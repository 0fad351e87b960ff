/** What odd registries and odd times do to a pull: it stays bounded, says what is wrong, and leaves nothing behind. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { HastyClock } from '#support/fakes/hasty-clock.js';
import { type BlobRef, type MadeImage } from '#support/fakes/oci-layout.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type Image } from '#watch/messages';
import { ImageStore } from '../images/image-store.js';

const NEVER = new AbortController().signal;
let folder: string;
let clock: HastyClock;
let store: ImageStore;
let registry: FakeRegistry;

beforeEach(async () => {
  clock = new HastyClock({ nowMs: Date.now() });
  folder = await mkdtemp(join(tmpdir(), 'podloop-odd-'));
  store = await ImageStore.open({
    ...{ rootDir: join(folder, 'root'), imageDirs: [], logger: SILENT_LOGGER, clock },
    registry: { configFolders: [join(folder, 'certs.d')], environment: { HOME: folder } },
  });
  registry = await FakeRegistry.start();
});

afterEach(async () => {
  await store.close();
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const pull = (name: string, signal = NEVER): Promise<Image> => store.pull(`${registry.host}/${name}`, signal);
const blobs = (): Promise<string[]> => readdir(join(folder, 'root/images/blobs'));
const fileOf = (digest: string): Buffer =>
  registry.layout.toFiles().get(`blobs/${digest.replace(':', '/')}`)!;

/** More layers than are fetched at the same time. */
function addEight(name = 'app:1'): MadeImage {
  const layers = Array.from({ length: 8 }, (_, at) => [{ name: String(at), content: randomBytes(1_000) }]);
  const made = registry.layout.addManifest({ layers });
  registry.tag(name, made.manifest);
  return made;
}

/** Has layers answered only once `gate` resolves; `onLayer` hears of each request for one. */
function holdLayers(made: MadeImage, gate: Promise<void>, onLayer: () => void): void {
  registry.answerers.push(({ url = '' }, response) => {
    const digest = /\/blobs\/(sha256:\w+)/.exec(url)?.[1];
    if (digest === undefined || digest === made.id) return false;
    onLayer();
    void gate.then(() => response.end(fileOf(digest)));
    return true;
  });
}

describe('layers that are fetched', () => {
  it('go with their image, also after a pull of it that was broken off', async () => {
    const made = addEight();
    const stop = new AbortController();
    holdLayers(made, new Promise(() => undefined), () => stop.abort(new Error('left')));
    await expect(pull('app:1', stop.signal)).rejects.toThrow('left');
    registry.breakConnections();
    registry.answerers.length = 0;
    await store.remove((await pull('app:1')).id);
    expect(await blobs()).toEqual([]);
  });

  it('stay for the one who goes on when the one who began has left and other images are removed', async () => {
    const made = addEight();
    registry.tag('other:1', registry.layout.addManifest({ layers: [[{ name: 'other' }]] }).manifest);
    const other = await pull('other:1');
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let requests = 0;
    const asked = new Promise<void>((resolve) =>
      holdLayers(made, gate, () => {
        if (++requests === 3) resolve();
      }),
    );
    const stop = new AbortController();
    const first = pull('app:1', stop.signal);
    await asked;
    let second!: Promise<Image>;
    await new Promise<void>((onFound) => {
      second = store.pull(`${registry.host}/app:1`, NEVER, { onFound: () => onFound() });
    });
    // It waits for the same by then.
    await setTimeoutAsync(0);
    stop.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    await store.remove(other.id);
    open();
    expect((await second).id).toBe(made.id);
    expect(await blobs()).toHaveLength(10);
    await store.remove(made.id);
    expect(await blobs()).toEqual([]);
  });

  it.each<[string, (path: string) => Promise<void>]>([
    ['was cut off', (path) => truncate(path, 100)],
    ['is gone', (path) => rm(path)],
    ['is not what it was', (path) => writeFile(path, Buffer.alloc(2_048))],
  ])('come again where a file of theirs %s', async (_, spoil) => {
    const layers = ['one', 'two'].map((name) => [{ name, content: randomBytes(1_000) }]);
    const made = registry.layout.addManifest({ layers });
    registry.tag('app:1', made.manifest);
    await pull('app:1');
    const document = JSON.parse(fileOf(made.manifest.digest).toString()) as { layers: BlobRef[] };
    const [{ digest }] = document.layers as [BlobRef];
    await spoil(join(folder, 'root/images/blobs', digest.replace(':', '-')));
    // Has the same layer below others.
    const next = registry.layout.addManifest({ layers: [layers[0]!, [{ name: 'three' }]] });
    registry.tag('app:2', next.manifest);
    const image = await pull('app:2').catch(() => pull('app:2'));
    expect(image.id).toBe(next.id);
  });
});
