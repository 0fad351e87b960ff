/** kill -9 of the runtime at seeded points of a pull: what came stays, nothing is fetched twice, no image is there in part. */
import { createHash, randomBytes } from 'node:crypto';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { EmbeddedNode, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

const KILLS = 5;
const FILES = 4_000;
const SEEDS = [1, 2];
const LAYERS = [300_000, 900_000, 500_000, 1_200_000, 100_000].map((size) => randomBytes(size));
let program: RuntimeProgram;
let node: EmbeddedNode;
let registry: FakeRegistry;
/** How many bytes of blobs the registry still sends before it falls silent, and how many it has sent. */
let budget: number;
let sent: number;
/** The file of the manifest, which is no blob to the registry. */
let manifestName: string;

beforeAll(async () => {
  program = await RuntimeProgram.build();
  // It may have to be compiled.
}, 240_000);
afterAll(() => program[Symbol.asyncDispose]());

beforeEach(async () => {
  [budget, sent] = [Infinity, 0];
  node = await EmbeddedNode.prepare();
  await mkdir(join(node.folder, 'certs.d'));
  registry = await FakeRegistry.start();
  registry.answerers.push(sendInBudget);
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await node[Symbol.asyncDispose]();
});

function sendInBudget(request: IncomingMessage, response: ServerResponse): boolean {
  const digest = /\/blobs\/([^/?]+)/.exec(request.url ?? '')?.[1]?.replace(':', '/');
  const content = digest === undefined ? undefined : registry.layout.toFiles().get(`blobs/${digest}`);
  if (content === undefined) return false;
  const { range } = request.headers;
  const from = Number(/\d+/.exec(range ?? '')?.[0] ?? 0);
  const piece = content.subarray(from, from + budget);
  budget -= piece.length;
  sent += piece.length;
  response.writeHead(range === undefined ? 200 : 206, {
    'content-length': content.length - from,
    'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
  });
  response.write(piece);
  // Else the rest never comes: the runtime waits until it is killed.
  if (from + piece.length === content.length) response.end();
  return true;
}

const start = () => program.start(node, '--registry-config-path', join(node.folder, 'certs.d'));
const image = () => ({ image: { image: `${registry.host}/app:1` } });
const at = (...parts: string[]) => join(node.root, 'images', ...parts);
const list = (...parts: string[]) => readdir(at(...parts)).catch(() => []);
const pull = () =>
  node.client.pullImage(image()).then(
    () => true,
    () => false,
  );

/** An image, and the size of all its blobs but the manifest. */
function addImage(layers: Parameters<FakeRegistry['layout']['addManifest']>[0]['layers']): number {
  const { manifest } = registry.layout.addManifest({ layers, compression: 'gzip' });
  registry.tag('app:1', manifest);
  manifestName = manifest.digest.replace(':', '-');
  const text = registry.layout
    .toFiles()
    .get(`blobs/${manifest.digest.replace(':', '/')}`)!
    .toString();
  const { config, layers: stored } = JSON.parse(text) as Record<'config', { size: number }> &
    Record<'layers', { size: number }[]>;
  return [config, ...stored].reduce((sum, { size }) => sum + size, 0);
}

/** What has come of configs and layers. */
async function storedBytes(): Promise<number> {
  const names = (await list('blobs')).filter((name) => name !== manifestName && !name.endsWith('.tmp'));
  // A file may get its name in between.
  const sizes = await Promise.all(names.map((name) => stat(at('blobs', name)).catch(() => undefined)));
  return sizes.reduce((sum, facts) => sum + (facts?.size ?? 0), 0);
}

async function expectWhole(): Promise<void> {
  for (const name of await list('blobs')) {
    if (/\.(partial|tmp)$/.test(name)) continue;
    const digest = createHash('sha256')
      .update(await readFile(at('blobs', name)))
      .digest('hex');
    expect(name).toBe(`sha256-${digest}`);
  }
}

describe('a pull that is cut off by kill -9', () => {
  it.each(SEEDS)(
    'goes on where it was, and fetches nothing twice (seed %i)',
    async (seed) => {
      const members = LAYERS.map((content, layer) => [{ name: `layer-${layer}`, content }]);
      const total = addImage(members);
      for (const cut of drawCuts(seed, total)) {
        const child = await start();
        const before = await storedBytes();
        expect(before).toBe(sent);
        budget = cut;
        const pulled = pull();
        await until(storedBytes, (bytes) => bytes === before + cut);
        await end(child, 'SIGKILL');
        expect(await pulled).toBe(false);
        await expectWhole();
        expect(await list('roots')).toEqual([]);
      }
      budget = Infinity;
      const child = await start();
      await node.client.pullImage(image());
      expect(sent).toBe(total);
      await expectWhole();
      const [root = ''] = await list('roots');
      for (const [layer, content] of LAYERS.entries())
        expect((await readFile(at('roots', root, 'root', `layer-${layer}`))).equals(content)).toBe(true);
      expect((await list('blobs')).filter((name) => name.includes('.'))).toEqual([]);
      expect(await end(child, 'SIGTERM')).toBe(0);
      expect(await list('temporary')).toEqual([]);
      // It starts six programs.
    },
    180_000,
  );

  it('while it unpacks is unpacked from what is there', async () => {
    const members = Array.from({ length: FILES }, (_, file) => ({
      name: `f${file}`,
      content: 'x'.repeat(file % 300),
    }));
    const total = addImage([members]);
    let cutOff = 0;
    for (let kill = 0; kill < 3; kill++) {
      const child = await start();
      const pulled = pull();
      let isOver = false;
      const over = pulled.finally(() => (isOver = true));
      await untilUnpacked((FILES / 4) * kill, () => isOver);
      await end(child, 'SIGKILL');
      await over;
      const roots = await list('roots');
      if (roots.length === 0) cutOff++;
      expect(sent).toBe(total);
    }
    expect(cutOff).toBeGreaterThan(0);
    const child = await start();
    await node.client.pullImage(image());
    expect(sent).toBe(total);
    const [root = ''] = await list('roots');
    expect(await readdir(at('roots', root, 'root'))).toHaveLength(FILES);
    expect(await end(child, 'SIGTERM')).toBe(0);
  }, 180_000);
});

describe('a second runtime on the store of one that pulls', () => {
  it('is refused in words, and the pull goes on', async () => {
    const total = addImage([[{ name: 'file', content: LAYERS[0]! }]]);
    budget = 10_000;
    const child = await start();
    const pulled = pull();
    await until(storedBytes, (bytes) => bytes === 10_000);
    const second = program.spawn('--listen', `unix://${node.folder}/second.sock`, '--root', node.root);
    let said = '';
    second.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    expect(await new Promise((resolve) => second.once('close', resolve))).not.toBe(0);
    expect(said).toContain('another embedded runtime');
    expect(await storedBytes()).toBe(10_000);
    // The silent connection breaks, and the pull goes on.
    budget = Infinity;
    registry.breakConnections();
    expect(await pulled).toBe(true);
    expect(sent).toBe(total);
    expect(await end(child, 'SIGTERM')).toBe(0);
  }, 120_000);
});

/** Where a pull is cut off: so many bytes at a time, together less than there are. */
function drawCuts(seed: number, total: number): number[] {
  let state = seed * 7_919;
  const random = (): number => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
  return Array.from({ length: KILLS }, () => 1 + Math.floor((random() * total) / KILLS));
}

/** Until that many files were unpacked, the image is there, or the pull is over. */
async function untilUnpacked(count: number, isOver: () => boolean): Promise<void> {
  while (!isOver() && (await list('roots')).length === 0) {
    for (const under of await list('temporary')) {
      const names = await list('temporary', under, 'root');
      if (names.length >= count && names.length > 0) return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
