/** What a loss of power, a kill or a bad disk leaves of a store: the next runtime opens it, and every image can be pulled again. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { HastyClock } from '#support/fakes/hasty-clock.js';
import { ImageStore } from '../images/image-store.js';

const NEVER = new AbortController().signal;
const SHARED = randomBytes(20_000);
const OWN = [randomBytes(30_000), randomBytes(40_000)] as const;
const NAMES = ['one', 'two'] as const;
let folder: string;
let registry: FakeRegistry;
let store: ImageStore;
/** How many bytes of layers the registry still sends. */
let budget = Infinity;

beforeEach(async () => {
  budget = Infinity;
  folder = await mkdtemp(join(tmpdir(), 'podloop-torn-'));
  registry = await FakeRegistry.start();
  registry.answerers.push((request, response) => {
    const content = blobOf(request.url);
    if (content === undefined) return false;
    const { range } = request.headers;
    const from = Number(/\d+/.exec(range ?? '')?.[0] ?? 0);
    const piece = content.subarray(from, from + budget);
    budget -= piece.length;
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': content.length - from,
      'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
    });
    response.write(piece, () => (from + piece.length < content.length ? response.destroy() : response.end()));
    return true;
  });
  for (const [at, name] of NAMES.entries()) {
    const layers = [[{ name: 'shared', content: SHARED }], [{ name: 'own', content: OWN[at]! }]];
    registry.tag(`${name}:1`, registry.layout.addManifest({ layers, config: { Env: [name] } }).manifest);
  }
});

afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function blobOf(url = ''): Buffer | undefined {
  const digest = /\/blobs\/([^/?]+)/.exec(url)?.[1];
  return digest === undefined
    ? undefined
    : registry.layout.toFiles().get(`blobs/${digest.replace(':', '/')}`);
}

async function open(rootDir: string, nowMs = Date.now()): Promise<void> {
  store = await ImageStore.open({
    ...{ rootDir, imageDirs: [], logger: SILENT_LOGGER },
    clock: new HastyClock({ nowMs }),
    registry: { configFolders: [], environment: { HOME: folder } },
  });
}

const referenceOf = (which: 0 | 1): string => `${registry.host}/${NAMES[which]}:1`;
const pull = (which: 0 | 1) => store.pull(referenceOf(which), NEVER);

type Tear = 'empty' | 'half' | 'zeros' | 'gone' | 'longer' | 'temporary';
type Step =
  | { readonly does: 'pull' | 'remove'; readonly which: 0 | 1 }
  | { readonly does: 'break off'; readonly which: 0 | 1; readonly after: number }
  | { readonly does: 'tear'; readonly file: number; readonly how: Tear };

const which = fc.constantFrom(0 as const, 1 as const);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ does: fc.constantFrom('pull' as const, 'remove' as const), which }),
    fc.record({ does: fc.constant('break off' as const), which, after: fc.nat(60_000) }),
    fc.record({
      does: fc.constant('tear' as const),
      file: fc.nat(30),
      how: fc.constantFrom<Tear>('empty', 'half', 'zeros', 'gone', 'longer', 'temporary'),
    }),
  ),
  { minLength: 2, maxLength: 6 },
);

it('opens again, and gives each image whole at the second pull at the latest', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const rootDir = join(folder, String(++runs));
      budget = Infinity;
      await open(rootDir);
      for (const step of all) await take(step, rootDir);
      for (const each of [0, 1] as const) {
        const image = await pull(each).catch(() => pull(each));
        expect(store.find(referenceOf(each))?.id).toBe(image.id);
        const root = await store.prepareRoot({
          imageId: image.id,
          containerId: 'c',
          isolated: false,
          signal: NEVER,
        });
        if (root.kind !== 'folder') throw new Error(`expected a folder, got ${root.kind}`);
        expect((await readFile(join(root.path, 'shared'))).equals(SHARED)).toBe(true);
        expect((await readFile(join(root.path, 'own'))).equals(OWN[each])).toBe(true);
        await store.releaseRoot('c');
      }
      for (const { id } of store.images.slice(1)) await store.remove(id);
      await store.close();
      // Nothing of it is left but the folders.
      expect(await filesBelow(join(rootDir, 'images'))).toEqual([]);
    }),
    { numRuns: 12 },
  );
}, 180_000);

async function take(step: Step, rootDir: string): Promise<void> {
  switch (step.does) {
    case 'pull':
      // The first one may find what is damaged.
      await pull(step.which).catch(() => undefined);
      return;
    case 'remove':
      await store.remove(referenceOf(step.which));
      return;
    case 'break off':
      budget = step.after;
      await pull(step.which).catch(() => undefined);
      budget = Infinity;
      return;
    case 'tear': {
      await store.close();
      const files = await filesBelow(join(rootDir, 'images'));
      const file = files[step.file % files.length];
      if (file !== undefined) await tear(file, step.how);
      await open(rootDir);
    }
  }
}

/** Records, blobs and facts. What is below an unpacked root is on the disk before it gets its name. */
async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !/\/roots\/[^/]+\/root(\/|$)/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

async function tear(file: string, how: Tear): Promise<void> {
  const { size } = await stat(file);
  switch (how) {
    case 'empty':
      return truncate(file, 0);
    case 'half':
      return truncate(file, size >> 1);
    case 'zeros':
      // A size that was written before its content.
      return writeFile(file, Buffer.alloc(size));
    case 'gone':
      return rm(file);
    case 'longer':
      return writeFile(file, Buffer.alloc(100), { flag: 'a' });
    case 'temporary':
      return writeFile(`${file}.tmp`, Buffer.alloc(size >> 1));
  }
}

it('fetches no layer twice that was whole when a pull broke off', async () => {
  const rootDir = join(folder, 'root');
  const blobs = () => readdir(join(rootDir, 'images', 'blobs'));
  let isBroken = true;
  registry.answerers.unshift((request, response) => {
    const isLast = (blobOf(request.url)?.length ?? 0) > OWN[0].length;
    return isBroken && isLast && Boolean(response.destroy());
  });
  await open(rootDir);
  await expect(pull(0)).rejects.toThrow();
  await store.close();
  await open(rootDir);
  const whole = (await blobs()).filter((name) => !name.endsWith('.partial'));
  // The manifest, the config and the shared layer.
  expect(whole).toHaveLength(3);
  isBroken = false;
  const before = registry.requests.length;
  const { id } = await pull(0);
  const asked = registry.requests.slice(before).filter((request) => request.startsWith('GET'));
  expect(asked).toHaveLength(1);
  expect(await blobs()).toHaveLength(4);
  // From now on they go with their image.
  await store.remove(id);
  expect(await blobs()).toEqual([]);
  await store.close();
});

it('lets go of what broke off after an hour, and at once where an image is removed', async () => {
  const rootDir = join(folder, 'root');
  const blobs = () => readdir(join(rootDir, 'images', 'blobs'));
  await open(rootDir);
  await pull(1);
  const pulled = await blobs();
  const breakOff = async (): Promise<void> => {
    budget = 25_000;
    await expect(pull(0)).rejects.toThrow();
    budget = Infinity;
    expect((await blobs()).length).toBeGreaterThan(pulled.length);
  };
  await breakOff();
  await store.close();
  await open(rootDir, Date.now() + 2 * 3_600_000);
  expect((await blobs()).sort()).toEqual(pulled.sort());
  await store.close();
  await open(rootDir);
  await breakOff();
  await store.remove(referenceOf(1));
  expect(await blobs()).toEqual([]);
  await store.close();
});
