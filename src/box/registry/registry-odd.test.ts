/** What odd registries and odd times do to a pull: it stays bounded, says what is wrong, and leaves nothing behind. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as setImmediateAsync, setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { HastyClock } from '#support/fakes/hasty-clock.js';
import { type BlobRef, type MadeImage } from '#support/fakes/oci-layout.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type Image } from '#watch/messages';
import { ImageStore } from '../images/image-store.js';
import { type LayerProgress } from '../images/pulls-under-way.js';

const NEVER = new AbortController().signal;
const INDEX = 'application/vnd.oci.image.index.v1+json';
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
  // What was broken off may still be writing its last bytes.
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
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

/** Lets time go by until then. */
async function passTimeUntil(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await clock.advance(5_000);
    await setTimeoutAsync(5);
  }
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

  it('never go back in how far they are', async () => {
    addEight();
    let progress: (() => readonly LayerProgress[]) | undefined;
    const pulled = store.pull(`${registry.host}/app:1`, NEVER, { onFound: (found) => (progress = found) });
    const over = new AbortController();
    const end = (): void => over.abort();
    pulled.then(end, end);
    const seen = new Map<string, number[]>();
    while (!over.signal.aborted) {
      for (const { digest, fetched } of progress?.() ?? [])
        seen.set(digest, [...(seen.get(digest) ?? []), fetched]);
      await setImmediateAsync();
    }
    await pulled;
    expect(seen.size).toBe(8);
    for (const steps of seen.values()) expect(steps).toEqual(steps.toSorted((one, other) => one - other));
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

describe('a registry that says nothing', () => {
  it('is asked twice', async () => {
    addEight();
    registry.answerers.push(() => true);
    let failure: unknown;
    pull('app:1').catch((error: unknown) => (failure = error));
    await passTimeUntil(() => failure !== undefined);
    expect(failure).toMatchObject({ message: expect.stringContaining('no answer within 60s') as unknown });
    expect(registry.requests).toHaveLength(2);
  });

  it('as a mirror is asked once, and not again for the rest of the image', async () => {
    const made = addEight();
    await using mirror = await FakeRegistry.start();
    mirror.answerers.push(() => true);
    const configs = join(folder, 'certs.d', registry.host);
    await mkdir(configs, { recursive: true });
    const text = `server = "${registry.url}"\n[host."${mirror.url}"]\n`;
    await writeFile(join(configs, 'hosts.toml'), text);
    const pulled = pull('app:1');
    await passTimeUntil(() => registry.requests.length > 0);
    expect((await pulled).id).toBe(made.id);
    expect(mirror.requests).toHaveLength(1);
  });

  it('is given up, too, where a document comes for hours', async () => {
    registry.answerers.push(({ method }, response) => {
      if (method === 'HEAD') return false;
      response.writeHead(200, { 'content-type': INDEX });
      sending = response;
      return true;
    });
    registry.tag('app:1', addEight().manifest);
    let sending: ServerResponse | undefined;
    let failure: unknown;
    pull('app:1').catch((error: unknown) => (failure = error));
    await passTimeUntil(() => {
      // More than the least of what has to come in a minute.
      sending?.write(' '.repeat(3_000));
      return failure !== undefined;
    });
    expect(failure).toMatchObject({
      message: expect.stringContaining('no whole answer within 300s') as unknown,
    });
    expect(registry.count('GET')).toBe(2);
  });

  it('is not waited for where its answer does not count', async () => {
    const made = addEight();
    let [isAsked, isClosed] = [false, false];
    registry.answerers.push(({ method }, response) => {
      if (isAsked || method === 'HEAD') return false;
      isAsked = true;
      const challenge = `Bearer realm="${registry.url}/token"`;
      // With some words that never come.
      response.writeHead(401, { 'content-length': '100', 'www-authenticate': challenge }).flushHeaders();
      response.once('close', () => (isClosed = true));
      return true;
    });
    expect((await pull('app:1')).id).toBe(made.id);
    await passTimeUntil(() => isClosed);
  });

  it('is given up, too, where a few bytes come each time', async () => {
    const made = addEight();
    registry.answerers.push(({ url = '', headers: { range } }, response) => {
      const digest = /\/blobs\/(sha256:\w+)/.exec(url)?.[1];
      if (digest === undefined || digest === made.id) return false;
      const from = Number(/\d+/.exec(range ?? '')?.[0] ?? 0);
      const content = fileOf(digest);
      response.writeHead(range === undefined ? 200 : 206, {
        'content-length': content.length - from,
        'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
      });
      response.write(content.subarray(from, from + 10), () => response.destroy());
      return true;
    });
    await expect(pull('app:1')).rejects.toThrow('the connection broke');
    // Three at the same time.
    expect(registry.count('/blobs/')).toBeLessThan(20);
  });
});

describe('a registry that limits the rate', () => {
  const inSeconds = (seconds: number): string => new Date(clock.now() + seconds * 1_000).toUTCString();

  it.each<[string, () => string, number]>([
    ['a number', () => '20', 20_000],
    // A date has no milliseconds.
    ['a date', () => inSeconds(20), 19_000],
    ['a date that is over', () => inSeconds(-20), 500],
    ['something else', () => 'soon', 500],
  ])('is asked again after %s that it names', async (_, retryAfter, leastMs) => {
    const made = addEight();
    const value = retryAfter();
    registry.answerers.push((_request, response) => {
      if (registry.requests.length > 1) return false;
      response.writeHead(429, { 'retry-after': value }).end();
      return true;
    });
    expect((await pull('app:1')).id).toBe(made.id);
    expect(clock.slept).toHaveLength(1);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(leastMs);
    expect(clock.slept[0]).toBeLessThanOrEqual(20_000);
  });

  it.each<[string, () => string]>([
    ['a year from now', () => inSeconds(365 * 86_400)],
    ['centuries', () => '99999999999'],
  ])('until %s is not waited for', async (_, retryAfter) => {
    const value = retryAfter();
    registry.answerers.push((_request, response) => {
      response.writeHead(429, { 'retry-after': value }).end();
      return true;
    });
    await expect(pull('app:1')).rejects.toThrow(/limits the rate of pulls.*asks to wait for \d+s/);
    expect(clock.slept).toEqual([]);
  });
});

describe('a document that is no image of today', () => {
  it("is refused in words where it is of Docker's schema 1, whose digest is not that of its bytes", async () => {
    const type = 'application/vnd.docker.distribution.manifest.v1+prettyjws';
    const content = JSON.stringify({ schemaVersion: 1, fsLayers: [], signatures: [] });
    const digest = `sha256:${'b'.repeat(64)}`;
    registry.answerers.push(({ method }, response) => {
      response.writeHead(200, { 'content-type': type, 'docker-content-digest': digest });
      response.end(method === 'HEAD' ? undefined : content);
      return true;
    });
    const words = expect.stringContaining("is of Docker's schema 1") as unknown;
    await expect(pull('app:1')).rejects.toMatchObject({ code: status.UNIMPLEMENTED, message: words });
    await expect(pull(`app@${digest}`)).rejects.toMatchObject({ message: words });
  });

  it('is named by its kind where it is a chart', async () => {
    const config = registry.layout.addJson('application/vnd.cncf.helm.config.v1+json', { name: 'chart' });
    const layer = registry.layout.addBlob(
      'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
      Buffer.from('x'),
    );
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const chart = { schemaVersion: 2, mediaType, config, layers: [layer] };
    registry.tag('chart:1', registry.layout.addJson(mediaType, chart));
    await expect(pull('chart:1')).rejects.toThrow('of the kind application/vnd.cncf.helm.config.v1+json');
  });

  it('is named where a registry lacks a part of it', async () => {
    const made = addEight();
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const document = JSON.parse(fileOf(made.manifest.digest).toString()) as { layers: BlobRef[] };
    const digest = `sha256:${'c'.repeat(64)}`;
    const layers = document.layers.with(0, { ...document.layers[0]!, digest });
    registry.tag('app:1', registry.layout.addJson(mediaType, { ...document, layers }));
    await expect(pull('app:1')).rejects.toMatchObject({
      ...{ code: status.NOT_FOUND },
      message: expect.stringContaining(
        `${registry.host} has no such blob ${digest} (404 Not Found`,
      ) as unknown,
    });
  });

  it('is not searched for in indexes of indexes without end', async () => {
    const documents = new Map<string, string>();
    const make = (depth: number, at: number): BlobRef => {
      const manifests =
        depth === 0 ? [] : Array.from({ length: 8 }, (_, each) => make(depth - 1, each + at * 8));
      const text = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests, annotations: { at } });
      const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
      documents.set(digest, text);
      return { mediaType: INDEX, digest, size: text.length };
    };
    const root = make(3, 0);
    registry.answerers.push(({ url = '', method }, response) => {
      const digest = /sha256:\w+/.exec(url)?.[0] ?? root.digest;
      response.writeHead(200, { 'content-type': INDEX, 'docker-content-digest': digest });
      response.end(method === 'HEAD' ? undefined : documents.get(digest));
      return true;
    });
    await expect(pull('app:1')).rejects.toMatchObject({
      ...{ code: status.RESOURCE_EXHAUSTED },
      message: expect.stringContaining('none of the first 100 manifests') as unknown,
    });
    expect(registry.requests.length).toBeLessThan(110);
  });
});
