import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { systemCodeOf } from './system-code.js';

const OTHERS = [new Error('no code'), Object.assign(new Error('of gRPC'), { code: 5 }), undefined, null];

it("is the system's error code", async () => {
  const error: unknown = await readFile('/nowhere/at/all').catch((caught: unknown) => caught);
  expect(systemCodeOf(error)).toBe('ENOENT');
});

it.each(OTHERS)('is empty for %s', (error) => {
  expect(systemCodeOf(error)).toBe('');
});
