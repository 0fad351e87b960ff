import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FolderSizes } from './folder-sizes.js';

const clock = new FakeClock();
let underWay: Map<string, (bytes: bigint) => void>;
let sizes: FolderSizes;

beforeEach(() => {
  underWay = new Map();
  sizes = new FolderSizes({
    ...{ clock, goodForMs: 9_000, atOnce: 2, signal: new AbortController().signal },
    measureFolder: async (path) => new Promise((resolve) => underWay.set(path, resolve)),
  });
});

async function end(path: string, bytes: bigint): Promise<void> {
  underWay.get(path)!(bytes);
  underWay.delete(path);
  await clock.settle();
}

it('counts as many folders at a time as it may, in the order in which they were asked for', async () => {
  for (const path of ['/a', '/b', '/c', '/a']) expect(sizes.find(path)).toBeUndefined();
  expect([...underWay.keys()]).toEqual(['/a', '/b']);
  await end('/b', 2n);
  expect([...underWay.keys()]).toEqual(['/a', '/c']);
  expect(sizes.find('/b')).toMatchObject({ size: 2 });
  await end('/a', 1n);
  await end('/c', 3n);
  await sizes.settled();
  expect(underWay.size).toBe(0);
});

it('keeps what it knows while it counts once more', async () => {
  sizes.find('/a');
  await end('/a', 1n);
  await clock.advance(9_000);
  expect(sizes.find('/a')).toMatchObject({ size: 1 });
  expect([...underWay.keys()]).toEqual(['/a']);
  expect(sizes.find('/a')).toMatchObject({ size: 1 });
  await end('/a', 5n);
  expect(sizes.find('/a')).toMatchObject({ size: 5 });
  sizes.keepOnly((path) => path !== '/a');
  expect(sizes.find('/a')).toBeUndefined();
});
