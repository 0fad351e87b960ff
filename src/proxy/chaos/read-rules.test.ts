import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readRules } from './read-rules.js';
import { MAX_RULES_BYTES, parseRules } from './rules-file.js';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-rules-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function write(text: string): Promise<string> {
  const file = join(folder, 'rules.yaml');
  await writeFile(file, text);
  return file;
}

it('gives a file as it is, up to the largest', async () => {
  const text = 'rules: [] # '.padEnd(MAX_RULES_BYTES, 'x');
  expect(await readRules(await write(text))).toBe(text);
});

it.each(['', '\u{feff}'])('reads of a larger one no more than shows it (%j)', async (begin) => {
  const file = await write(begin + 'rules: [] # '.padEnd(20 * MAX_RULES_BYTES, 'x'));
  const text = await readRules(file);
  expect(Buffer.byteLength(text)).toBe(MAX_RULES_BYTES + 1);
  expect(() => parseRules(text, file)).toThrow('is larger than 128 KiB');
});

it('says which file cannot be read', async () => {
  const file = join(folder, 'none.yaml');
  await expect(readRules(file)).rejects.toMatchObject({
    code: 'RULES_INVALID',
    message: expect.stringContaining(`${file}: cannot be read: ENOENT`) as string,
  });
});
