import { open } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { closeOnFailure } from './close-on-failure.js';

it('leaves a file open if the action succeeds', async () => {
  await using file = await open('/dev/null');
  expect(await closeOnFailure(file, async () => Promise.resolve(7))).toBe(7);
  expect(file.fd).toBeGreaterThan(0);
});

it('closes a file if the action fails, and rejects with its error', async () => {
  await using file = await open('/dev/null');
  const failure = new Error('no disk');
  await expect(closeOnFailure(file, async () => Promise.reject(failure))).rejects.toBe(failure);
  expect(file.fd).toBe(-1);
});
