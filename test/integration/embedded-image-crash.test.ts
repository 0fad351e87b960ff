/** kill -9 of the runtime while it unpacks: an image is there whole or not at all, and nothing else is left. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { EmbeddedNode } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

const IMAGE = { image: { image: 'example.test/many-files:1' } };
const FILES = 300;
const KILLS = 5;
let program: RuntimeProgram;
let node: EmbeddedNode;

beforeAll(async () => {
  program = await RuntimeProgram.build();
  node = await EmbeddedNode.prepare();
  await mkdir(join(node.folder, 'images'));
  const layout = new OciLayout();
  const members = Array.from({ length: FILES }, (_, at) => ({
    name: `d${at % 10}/f${at}`,
    content: 'x'.repeat(at),
  }));
  layout.addImage({ names: [IMAGE.image.image], layers: [members], compression: 'gzip' });
  await writeFile(join(node.folder, 'images', 'a.tar'), layout.toTar());
});

afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await node[Symbol.asyncDispose]();
});

const start = () => program.start(node, '--image-dir', join(node.folder, 'images'));
const list = (...parts: string[]) => readdir(join(node.root, 'images', ...parts));

describe('an image whose unpacking is cut off by kill -9', () => {
  it('is there whole or not at all, and can be pulled by the next runtime', async () => {
    let cutOff = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const child = await start();
      const pulled = node.client.pullImage(IMAGE).then(
        () => true,
        () => false,
      );
      await waitForFiles((FILES / KILLS) * kill);
      await end(child, 'SIGKILL');
      const answered = await pulled;
      const next = await start();
      const { image } = await node.client.imageStatus(IMAGE);
      const roots = await list('roots');
      if (answered) expect(image).toBeDefined();
      if (image !== undefined) expect(roots).toHaveLength(1);
      if (roots.length === 0) cutOff++;
      for (const root of roots) expect(await countFiles(join('roots', root, 'root'))).toBe(FILES);
      await node.client.removeImage(IMAGE);
      expect(await list('roots')).toEqual([]);
      expect(await end(next, 'SIGTERM')).toBe(0);
      expect(await list('temporary')).toEqual([]);
    }
    expect(cutOff).toBeGreaterThan(0);
    await start();
    await node.client.pullImage(IMAGE);
    const [root = ''] = await list('roots');
    expect(await countFiles(join('roots', root, 'root'))).toBe(FILES);
    // It starts a dozen programs.
  }, 180_000);
});

async function countFiles(folder: string): Promise<number> {
  const entries = await readdir(join(node.root, 'images', folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).length;
}

/** Until that many files were unpacked, or the image has got its name. */
async function waitForFiles(count: number): Promise<void> {
  while ((await list('roots').catch(() => [])).length === 0) {
    const [under] = await list('temporary').catch(() => []);
    if (under !== undefined && (await countFiles(join('temporary', under)).catch(() => 0)) >= count) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
