import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { PageFiles } from './page-files.js';

it('tries again to decompress a file after a failure', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-page-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const whole = brotliCompressSync('the page');
  await writeFile(join(folder, 'page.js.br'), Buffer.alloc(whole.length, 0xff));
  const { brotli, plain } = (await new PageFiles(pathToFileURL(`${folder}/`)).find('/page.js'))!;
  await expect(plain()).rejects.toThrow();
  whole.copy(brotli);
  expect(String(await plain())).toBe('the page');
});
