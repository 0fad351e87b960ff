/** What the thread that unpacks says of layers that are no archives, in the program as it is installed. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packTar } from '#support/builders/pack-tar.js';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { EmbeddedNode } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

const GOOD = packTar([{ name: 'file', content: 'content' }]);
/** Has the marks of gzip and nothing else of it. */
const BAD = Buffer.concat([gzipSync(GOOD).subarray(0, 10), Buffer.alloc(5_000, 'no archive')]);
const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

let program: RuntimeProgram;
let node: EmbeddedNode;
let registry: FakeRegistry;

beforeAll(async () => {
  program = await RuntimeProgram.build();
  // It may have to be compiled.
}, 240_000);
afterAll(() => program[Symbol.asyncDispose]());

beforeEach(async () => {
  node = await EmbeddedNode.prepare();
  await mkdir(join(node.folder, 'certs.d'));
  registry = await FakeRegistry.start();
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await node[Symbol.asyncDispose]();
});

const start = () => program.start(node, '--registry-config-path', join(node.folder, 'certs.d'));
const pull = () => node.client.pullImage({ image: { image: `${registry.host}/app:1` } });

describe('an image with a layer that is no archive', { timeout: 120_000 }, () => {
  it.each([
    ['first', [BAD, GOOD]],
    ['last', [GOOD, BAD]],
  ])(
    'is refused by the name of that layer, which is the %s one and what was sent',
    async (_which, layers) => {
      registry.tag('app:1', registry.layout.addManifest({ layers }).manifest);
      const runtime = await start();
      const words = expect.stringContaining(`the layer ${digestOf(BAD)} cannot be decompressed`) as unknown;
      const refused = { code: 'CRI_UNKNOWN', message: words };
      // What is stored is right, so that the second pull fetches nothing.
      for (let count = 0; count < 2; count++) await expect(pull()).rejects.toMatchObject(refused);
      expect(registry.count(`/blobs/${digestOf(BAD)}`)).toBe(1);
      await end(runtime, 'SIGTERM');
    },
  );

  it('is fetched again where the disk has damaged it', async () => {
    registry.tag('app:1', registry.layout.addManifest({ layers: [GOOD, BAD] }).manifest);
    const runtime = await start();
    await expect(pull()).rejects.toThrow();
    const stored = join(node.root, 'images/blobs', digestOf(BAD).replace(':', '-'));
    const bytes = await readFile(stored);
    await writeFile(stored, bytes.fill(7, 100));
    await expect(pull()).rejects.toThrow('is not what the image says');
    await expect(pull()).rejects.toThrow('cannot be decompressed');
    expect(registry.count(`/blobs/${digestOf(BAD)}`)).toBe(2);
    await end(runtime, 'SIGTERM');
  });
});
