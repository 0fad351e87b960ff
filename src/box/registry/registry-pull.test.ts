import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeRegistry, type FakeRegistryOptions } from '#support/fakes/fake-registry.js';
import { HastyClock } from '#support/fakes/hasty-clock.js';
import { type BlobRef, type ImageToMake, type MadeImage } from '#support/fakes/oci-layout.js';
import { type Image } from '#watch/messages';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { sha256Of } from '../images/archive/digest.js';
import { ImageStore } from '../images/image-store.js';
import { type ImageVerifiers } from '../images/image-verifiers.js';
import { type Login } from './docker-logins.js';

const NEVER = new AbortController().signal;
const LOGIN = { kind: 'password', username: 'ann', password: 'secret' } as const;
/** More than a socket takes at once. */
const BIG = randomBytes(1_500_000);

let clock: HastyClock;
let folder: string;
let store: ImageStore;
let registry: FakeRegistry;

beforeEach(async () => {
  // The age of files counts.
  clock = new HastyClock({ nowMs: Date.now() });
  folder = await mkdtemp(join(tmpdir(), 'podloop-registry-'));
  store = await openStore();
  registry = await FakeRegistry.start();
});

afterEach(async () => {
  await store.close();
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function openStore(
  environment: Record<string, string> = {},
  verify?: ImageVerifiers['verify'],
): Promise<ImageStore> {
  return ImageStore.open({
    ...{ rootDir: join(folder, 'root'), imageDirs: [], logger: SILENT_LOGGER, clock },
    verifiers: verify && { verify },
    registry: { configFolders: [join(folder, 'certs.d')], environment: { HOME: folder, ...environment } },
  });
}

async function restart(options: FakeRegistryOptions): Promise<void> {
  await registry[Symbol.asyncDispose]();
  registry = await FakeRegistry.start(options);
}

function add(more: Partial<ImageToMake> = {}, tag = 'app:1'): MadeImage {
  const layers = [
    [{ name: 'etc/' }, { name: 'etc/motd', content: 'hello' }],
    [{ name: 'big', content: BIG }],
  ];
  const made = registry.layout.addManifest({ layers, compression: 'gzip', ...more });
  registry.tag(tag, made.manifest);
  return made;
}

function pull(name = 'app:1', login?: Login, signal = NEVER): Promise<Image> {
  return store.pull(`${registry.host}/${name}`, signal, { login });
}

async function readRoot(id: string, path: string): Promise<Buffer> {
  const root = await store.prepareRoot({
    imageId: id,
    containerId: 'reader',
    isolated: false,
    signal: NEVER,
  });
  if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
  try {
    return await readFile(join(root.path, path));
  } finally {
    await store.releaseRoot('reader');
  }
}

/** What a pull fails with when time goes by; undefined when it has not failed after some minutes. */
async function failureAfterWaiting(): Promise<unknown> {
  let error: unknown;
  pull().catch((reason: unknown) => (error = reason));
  for (let steps = 0; steps < 200 && error === undefined; steps++) {
    await clock.advance(10_000);
    await setTimeoutAsync(5);
  }
  return error;
}

/** What lies in the folder of blobs. */
function blobs(): Promise<string[]> {
  return readdir(join(folder, 'root/images/blobs'));
}

function failsWith(code: status, words: string | RegExp): object {
  return expect.objectContaining({ code, message: expect.stringMatching(words) as unknown }) as object;
}

describe('a pull', () => {
  it('gets an image by tag, unpacks it, and has every blob as it is stored in the registry', async () => {
    const { id, manifest } = add();
    const image = await pull();
    expect(image.id).toBe(id);
    expect(image.repoTags).toEqual([`${registry.host}/app:1`]);
    expect(image.repoDigests).toEqual([`${registry.host}/app@${manifest.digest}`]);
    expect((await readRoot(id, 'big')).equals(BIG)).toBe(true);
    for (const name of await blobs()) {
      const file = registry.layout.toFiles().get(`blobs/${name.replace('-', '/')}`);
      expect((await readFile(join(folder, 'root/images/blobs', name))).equals(file!)).toBe(true);
    }
    expect(await blobs()).toHaveLength(4);
  });

  it('gets nothing twice: the same again costs a HEAD, and other images share layers', async () => {
    add();
    await pull();
    const before = registry.requests.length;
    await pull();
    expect(registry.requests.slice(before)).toEqual(['HEAD /v2/app/manifests/1']);
    add({ config: { Env: ['A=b'] } }, 'app:2');
    await pull('app:2');
    expect(registry.count('/blobs/')).toBe(4);
  });

  it('gets an image by digest, of a manifest or of an index', async () => {
    const { id, manifest } = add();
    const index = registry.layout.addIndex([{ ...manifest, platform: toPlatform(process.arch) }]);
    expect((await pull(`app@${manifest.digest}`)).id).toBe(id);
    expect((await pull(`app@${index.digest}`)).repoDigests).toContain(`${registry.host}/app@${index.digest}`);
  });

  it('fetches of an index what is for this machine, and nothing else', async () => {
    const { id, manifest } = add();
    const other = registry.layout.addManifest({ layers: [[]], architecture: 'riscv64' });
    const unknown = { os: 'unknown', architecture: 'unknown' };
    const index = registry.layout.addIndex([
      { ...other.manifest, platform: { os: 'linux', architecture: 'riscv64' } },
      { ...other.manifest, platform: unknown },
      { ...manifest, platform: toPlatform(process.arch) },
    ]);
    registry.tag('app:1', index);
    expect((await pull()).id).toBe(id);
    expect(registry.count(other.manifest.digest)).toBe(0);
    registry.tag('app:2', other.manifest);
    await expect(pull('app:2')).rejects.toEqual(
      failsWith(status.NOT_FOUND, /is not there for linux.*riscv64/),
    );
  });

  it('says NOT_FOUND for a tag that is not there, and leaves nothing', async () => {
    await expect(pull('app:9')).rejects.toEqual(
      failsWith(
        status.NOT_FOUND,
        /^failed to pull image ".*\/app:9": 127.* has no such image \(404 Not Found\)$/,
      ),
    );
    expect(await blobs()).toEqual([]);
  });

  it('shares one download among all who want the image at the same time, and ends it when the last one leaves', async () => {
    add();
    await Promise.all([pull(), pull(), pull()]);
    expect(registry.count('GET /v2/app/blobs')).toBe(3);
    await store.remove(`${registry.host}/app:1`);
    expect(await blobs()).toEqual([]);
    const leaves = new AbortController();
    registry.answerers.push((request) => {
      if (request.url?.includes('/blobs/') !== true) return false;
      leaves.abort(new Error('left'));
      return true;
    });
    await expect(pull('app:1', undefined, leaves.signal)).rejects.toThrow('left');
  });

  it('asks the verifiers by name and digest before a layer is fetched, each time, and takes no for an answer', async () => {
    const { id, manifest } = add();
    const index = registry.layout.addIndex([{ ...manifest, platform: toPlatform(process.arch) }]);
    registry.tag('app:1', index);
    const asked: unknown[] = [];
    const answers = ['no', 'yes', 'no'];
    await store.close();
    store = await openStore({}, (name, { digest, size }) => {
      asked.push([name, digest, size]);
      return answers.shift() === 'yes' ? Promise.resolve() : Promise.reject(new Error('not signed'));
    });
    await expect(pull()).rejects.toThrow('not signed');
    // The config, to know what it is.
    expect(registry.count('/blobs/')).toBe(1);
    expect(store.find(`${registry.host}/app:1`)).toBeUndefined();
    expect((await pull()).id).toBe(id);
    await expect(pull()).rejects.toThrow('not signed');
    expect(asked[0]).toEqual([`${registry.host}/app:1`, index.digest, index.size]);
    expect(asked).toHaveLength(3);
    expect(store.find(`${registry.host}/app:1`)?.id).toBe(id);
  });

  it('removes the blobs of an image with it, and leaves those that others have', async () => {
    add();
    add({ config: { Env: ['A=b'] } }, 'app:2');
    await pull();
    await pull('app:2');
    await store.remove(`${registry.host}/app:1`);
    expect(await blobs()).toHaveLength(4);
    await store.close();
    store = await openStore();
    expect(await blobs()).toHaveLength(4);
    expect((await store.usage()).images.bytes).toBeGreaterThan(BIG.length);
  });
});

describe('a registry that wants a login', () => {
  it.each<[string, FakeRegistryOptions]>([
    ['by name and password', { basic: 'ann:secret' }],
    ['by token', { token: { login: 'ann:secret' } }],
  ])('%s gets the one of the request, else that of docker login, else says so', async (_, options) => {
    await restart(options);
    const { id } = add();
    expect((await pull('app:1', LOGIN)).id).toBe(id);
    await store.remove(id);
    await expect(pull()).rejects.toEqual(failsWith(status.UNKNOWN, /login/));
    await expect(pull('app:1', { ...LOGIN, password: 'wrong' })).rejects.toThrow(/login|401/);
    const config = { auths: { [registry.host]: { auth: Buffer.from('ann:secret').toString('base64') } } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    await store.close();
    store = await openStore({ DOCKER_CONFIG: folder });
    expect((await pull()).id).toBe(id);
  });

  it('is asked whether an image that is here is for this login, also by digest', async () => {
    await restart({ basic: 'ann:secret' });
    const { id, manifest } = add();
    const name = `app@${manifest.digest}`;
    expect((await pull(name, LOGIN)).id).toBe(id);
    await expect(pull(name)).rejects.toEqual(failsWith(status.UNKNOWN, /login/));
    await expect(pull(name, { ...LOGIN, password: 'wrong' })).rejects.toThrow(/login|401/);
    const before = registry.requests.length;
    expect((await pull(name, LOGIN)).id).toBe(id);
    // Without the login, as the first question always is, and with it.
    const head = `HEAD /v2/app/manifests/${manifest.digest}`;
    expect(registry.requests.slice(before)).toEqual([head, head]);
  });

  it('by token gives one to anybody, which is asked for once', async () => {
    await restart({ token: {} });
    add();
    await pull();
    expect(registry.requests.filter((each) => each.includes('/token'))).toEqual([
      'GET /token?service=fake&scope=repository%3Aapp%3Apull',
    ]);
  });

  it('gets the login that a helper knows', async () => {
    await restart({ basic: 'ann:secret' });
    const { id } = add();
    const helper =
      '#!/bin/sh\nread place\n[ "$1" = get ] && echo "{\\"Username\\":\\"ann\\",\\"Secret\\":\\"secret\\"}"\n';
    await writeFile(join(folder, 'docker-credential-lab'), helper, { mode: 0o755 });
    await writeFile(join(folder, 'config.json'), JSON.stringify({ credHelpers: { [registry.host]: 'lab' } }));
    await store.close();
    store = await openStore({ DOCKER_CONFIG: folder, PATH: `${folder}:${process.env['PATH']}` });
    expect((await pull()).id).toBe(id);
  });

  it('never has it sent to where it redirects', async () => {
    await restart({ basic: 'ann:secret' });
    const { id } = add();
    await using elsewhere = await FakeRegistry.start();
    for (const [path, content] of registry.layout.toFiles()) {
      if (path.startsWith('blobs/')) elsewhere.layout.addBlob('', content);
    }
    registry.answerers.push((request, response) => {
      if (request.url?.includes('/blobs/') !== true) return false;
      response.writeHead(307, { location: `${elsewhere.url}${request.url}?X-Signature=1` });
      response.end();
      return true;
    });
    expect((await pull('app:1', LOGIN)).id).toBe(id);
    expect(elsewhere.count('GET')).toBe(3);
    expect(elsewhere.headers.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });
});

describe('a registry that fails', () => {
  it('goes on by range where it broke off, as often as it gets further', async () => {
    const { id } = add();
    const ranges: (string | undefined)[] = [];
    registry.answerers.push((request, response) => {
      const { range } = request.headers;
      const content = blobOf(request.url);
      const from = Number(/\d+/.exec(range ?? '')?.[0] ?? 0);
      if (content === undefined || content.length - from < 400_000) return false;
      ranges.push(range);
      response.writeHead(range === undefined ? 200 : 206, {
        'content-length': content.length - from,
        'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
      });
      response.write(content.subarray(from, from + 400_000), () => response.destroy());
      return true;
    });
    expect((await pull()).id).toBe(id);
    expect(ranges.length).toBeGreaterThan(2);
    expect(ranges[0]).toBeUndefined();
    expect(ranges.at(-1)).toMatch(/^bytes=[1-9]\d*-$/);
    expect((await readRoot(id, 'big')).equals(BIG)).toBe(true);
  });

  it('leaves what came for the next pull, over a restart too', async () => {
    add();
    let isBroken = true;
    registry.answerers.push((request, response) => {
      const content = blobOf(request.url);
      if (!isBroken || content === undefined || content.length < 400_000) return false;
      if (request.headers.range !== undefined) return (response.writeHead(404).end(), true);
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 400_000), () => response.destroy());
      return true;
    });
    await expect(pull()).rejects.toThrow('404');
    await store.close();
    store = await openStore();
    isBroken = false;
    const before = registry.headers.length;
    await pull();
    expect(registry.headers.slice(before).flatMap(({ range }) => range ?? [])).toEqual([
      expect.stringMatching(/^bytes=[1-9]\d*-$/),
    ]);
  });

  it.each([
    ['429', { 'retry-after': '7' }, [7_000]],
    ['503', {}, [750]],
  ])('answers %s for a moment is asked again, after as long as it says', async (code, headers, least) => {
    const { id } = add();
    let left = 1;
    registry.answerers.push((_, response) => {
      if (left-- <= 0) return false;
      response.writeHead(Number(code), headers);
      response.end();
      return true;
    });
    expect((await pull()).id).toBe(id);
    expect(clock.slept).toHaveLength(1);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(least[0]! * 0.6);
  });

  it('gives no token for a moment is asked again, after as long as it says', async () => {
    await restart({ token: { login: 'ann:secret' } });
    const { id } = add();
    let left = 1;
    registry.answerers.push(({ url }, response) => {
      if (url?.startsWith('/token') !== true || left-- <= 0) return false;
      response.writeHead(429, { 'retry-after': '7' });
      response.end();
      return true;
    });
    expect((await pull('app:1', LOGIN)).id).toBe(id);
    expect(clock.slept).toHaveLength(1);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(7_000);
    await expect(pull('app:1', { ...LOGIN, password: 'wrong' })).rejects.toThrow(
      'gives no token with the login that there is (401 Unauthorized)',
    );
    expect(clock.slept).toHaveLength(1);
  });

  it('wants a rest of an hour is not waited for, in words', async () => {
    registry.answerers.push((_, response) => {
      response.writeHead(429, { 'retry-after': '3600' });
      response.end();
      return true;
    });
    await expect(pull()).rejects.toThrow(/limits the rate of pulls.*asks to wait for 3600s/);
    expect(clock.slept).toEqual([]);
  });

  it('breaks off over and over is given up after some attempts', async () => {
    registry.answerers.push((request) => (request.socket.destroy(), true));
    await expect(pull()).rejects.toEqual(failsWith(status.UNKNOWN, /the connection broke/));
    expect(clock.slept.length).toBeGreaterThan(1);
    expect(clock.slept.length).toBeLessThan(20);
  });

  it.each<[string, (request: { url?: string }) => boolean]>([
    ['never answers', () => true],
    ['never sends a layer', ({ url = '' }) => url.includes('/blobs/')],
  ])('%s is given up in a bounded time', async (_, isMute) => {
    add();
    registry.answerers.push((request) => isMute(request));
    expect(await failureAfterWaiting()).toEqual(
      failsWith(status.UNKNOWN, /no answer|too slow|not connected/),
    );
  });

  it('drips a layer is given up in words', async () => {
    add();
    registry.answerers.push((request, response) => {
      const content = blobOf(request.url);
      if (content === undefined || content.length < 400_000) return false;
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 10));
      return true;
    });
    expect(await failureAfterWaiting()).toEqual(failsWith(status.UNKNOWN, /too slow|broke off/));
  });

  it('lies about a digest, a size, or what it sends is refused, and the store has nothing of it', async () => {
    const { manifest, id } = add();
    const layer = [...registry.layout.toFiles()].find(([, content]) => content.length > 1_000_000)!;
    const digest = layer[0].slice('blobs/'.length).replace('/', ':');
    const truth = layer[1];
    const lies: Buffer[] = [Buffer.alloc(truth.length, 1), truth.subarray(1), Buffer.concat([truth, truth])];
    for (const lie of lies) {
      registry.layout.corruptBlob(digest, lie);
      await expect(pull()).rejects.toEqual(failsWith(status.FAILED_PRECONDITION, /blob|layer/));
      expect(store.find(id)).toBeUndefined();
    }
    registry.layout.corruptBlob(digest, truth);
    const document = registry.layout.toFiles().get(`blobs/${manifest.digest.replace(':', '/')}`)!;
    registry.layout.corruptBlob(manifest.digest, Buffer.concat([document, Buffer.from(' ')]));
    await store.close();
    // The other layers of the last pull are still being broken off.
    await rm(join(folder, 'root'), { recursive: true, maxRetries: 20 });
    store = await openStore();
    await expect(pull()).rejects.toEqual(failsWith(status.FAILED_PRECONDITION, /manifest/));
    expect(await blobs()).toEqual([]);
  });

  it('sends one kind of document as another is refused', async () => {
    const both = registry.layout.addJson('', { schemaVersion: 2, manifests: [], layers: [], config: {} });
    registry.tag('app:1', { ...both, mediaType: 'application/vnd.oci.image.manifest.v1+json' });
    await expect(pull()).rejects.toThrow('an index and a manifest at once');
    const { manifest } = add();
    registry.answerers.push((request, response) => {
      if (request.method !== 'GET' || request.url?.includes('/manifests/') !== true) return false;
      response.writeHead(200, { 'content-type': 'application/vnd.oci.image.index.v1+json' });
      response.end(registry.layout.toFiles().get(`blobs/${manifest.digest.replace(':', '/')}`));
      return true;
    });
    await expect(pull()).rejects.toThrow('was sent as');
  });

  it('redirects in a circle, or to something that is no address, is refused', async () => {
    for (const location of ['/v2/app/manifests/1', 'file:///etc/passwd', 'http://']) {
      registry.answerers.unshift((_, response) => {
        response.writeHead(302, { location });
        response.end();
        return true;
      });
      await expect(pull()).rejects.toThrow('redirects');
    }
  });
});

describe('whatever a registry answers', () => {
  /** Small, seeded, so that the same answers come again. */
  const seeds = Array.from({ length: 60 }, (_, seed) => seed + 1);

  it('ends in an image or an error, and what is in the store is what it says', async () => {
    const { id } = add({ layers: [[{ name: 'etc/motd', content: 'hello' }]] });
    for (const seed of seeds) {
      const random = toRandom(seed * 7_919);
      registry.answerers.length = 0;
      registry.answerers.push((request, response) => spoil(random, request, response));
      const failure = await pull().then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure !== undefined) expect(failure).toHaveProperty('code');
      for (const name of await blobs()) {
        if (name.endsWith('.partial')) continue;
        const content = await readFile(join(folder, 'root/images/blobs', name));
        expect(sha256Of(content)).toBe(name.replace('-', ':'));
      }
      await store.remove(id);
    }
    registry.answerers.length = 0;
    expect((await pull()).id).toBe(id);
  });

  /** Answers with nonsense of many kinds, or leaves it to the registry. */
  function spoil(random: () => number, request: IncomingMessage, response: ServerResponse): boolean {
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
    if (random() < 0.6) return false;
    const bytes = pick([
      Buffer.alloc(0),
      Buffer.from('{}'),
      Buffer.from('{"manifests":[{}],"schemaVersion":2}'),
      Buffer.from('{"errors":[{"message":7}]}'),
      Buffer.from(Array.from({ length: 300 }, () => Math.floor(random() * 256))),
      blobOf(request.url)?.subarray(0, 40) ?? Buffer.from('[]'),
    ]);
    const headers: Record<string, string> = {};
    if (random() < 0.5) headers['content-type'] = pick(['application/json', 'text/plain', 'x', '\u00ff']);
    if (random() < 0.3) headers['docker-content-digest'] = pick(['', 'sha256:x', sha256Of('x')]);
    if (random() < 0.3) headers['content-range'] = pick(['bytes 0-1/2', 'bytes x', `bytes 5-9/*`]);
    if (random() < 0.3) headers['www-authenticate'] = pick(['Basic', 'Bearer', 'Bearer realm="x"', ', ,=']);
    if (random() < 0.3) headers['location'] = pick(['/', '//', 'http://127.0.0.1:1/', 'ftp://a']);
    if (random() < 0.3) headers['retry-after'] = pick(['1', '-1', 'soon', '99999999999']);
    if (random() < 0.1) return (request.socket.destroy(), true);
    response.writeHead(pick([200, 200, 206, 301, 307, 401, 403, 404, 416, 429, 500]), headers);
    response.end(bytes);
    return true;
  }

  function toRandom(seed: number): () => number {
    let state = seed;
    return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
  }
});

describe('what is in the store', () => {
  it('is fetched again where a document was damaged on the disk', async () => {
    const { id } = add();
    await pull();
    for (const name of await blobs()) {
      const size = (await readFile(join(folder, 'root/images/blobs', name))).length;
      if (size < 4_000) await writeFile(join(folder, 'root/images/blobs', name), '{'.repeat(size));
    }
    expect((await pull()).id).toBe(id);
    expect((await pull()).id).toBe(id);
  });

  it('is fetched again where a blob was damaged on the disk', async () => {
    const { id } = add();
    await pull();
    const root = await readdir(join(folder, 'root/images/roots'));
    const big = (await blobs()).find(
      (name) => registry.layout.toFiles().get(`blobs/${name.replace('-', '/')}`)!.length > 1e6,
    )!;
    await writeFile(join(folder, 'root/images/blobs', big), Buffer.alloc(BIG.length + 1));
    await rm(join(folder, 'root/images/roots', root[0]!), { recursive: true });
    await store.close();
    store = await openStore();
    await pull().catch(() => undefined);
    expect((await pull()).id).toBe(id);
    expect((await readRoot(id, 'big')).equals(BIG)).toBe(true);
  });
});

function blobOf(url = ''): Buffer | undefined {
  const digest = /\/blobs\/([^/?]+)/.exec(url)?.[1];
  return digest === undefined
    ? undefined
    : registry.layout.toFiles().get(`blobs/${digest.replace(':', '/')}`);
}

function toPlatform(arch: string): BlobRef['platform'] {
  return { os: 'linux', architecture: ({ x64: 'amd64' } as Record<string, string>)[arch] ?? arch };
}
