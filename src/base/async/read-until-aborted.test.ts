import { expect, it } from 'vitest';
import { readUntilAborted } from './read-until-aborted.js';

async function collect(source: AsyncIterable<number>, signal: AbortSignal): Promise<number[]> {
  const items: number[] = [];
  for await (const item of readUntilAborted(source, signal)) items.push(item);
  return items;
}

it('yields every item of a source that ends', async () => {
  const source = (async function* () {
    yield 1;
    yield 2;
  })();
  expect(await collect(source, new AbortController().signal)).toEqual([1, 2]);
});

it('ends when the signal aborts although no item comes', async () => {
  const stopping = new AbortController();
  const source = (async function* () {
    yield 1;
    queueMicrotask(() => stopping.abort());
    await new Promise(() => undefined);
  })();
  expect(await collect(source, stopping.signal)).toEqual([1]);
});

it('closes the source when nobody reads it any more', async () => {
  let isLeft = false;
  const source = (async function* () {
    try {
      for (let item = 0; ; item++) yield item;
    } finally {
      isLeft = true;
    }
  })();
  for await (const item of readUntilAborted(source, new AbortController().signal)) if (item === 3) break;
  await Promise.resolve();
  expect(isLeft).toBe(true);
});

it('throws what the source throws', async () => {
  const source = (async function* (): AsyncGenerator<number> {
    await Promise.resolve();
    throw new Error('broken');
  })();
  await expect(collect(source, new AbortController().signal)).rejects.toThrow('broken');
});
