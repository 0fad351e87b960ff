import { expect, it } from 'vitest';
import { WaitingBytes } from './waiting-bytes.js';

function setUp(maxBytes: number) {
  const waiting = new WaitingBytes(maxBytes);
  const broken: string[] = [];
  const add = (name: string, body: Uint8Array) => waiting.add(body, () => broken.push(name));
  return { waiting, broken, add };
}

it('breaks off those that have been taken longest, as many as there are too much of', () => {
  const { waiting, broken, add } = setUp(100);
  const leaves = ['a', 'b', 'c'].map((name) => add(name, new Uint8Array(40)));
  expect([broken, waiting.bytes]).toEqual([['a'], 80]);
  add('d', new Uint8Array(100));
  expect([broken, waiting.bytes]).toEqual([['a', 'b', 'c'], 100]);
  for (const leave of leaves) leave();
  expect(waiting.bytes).toBe(100);
});

it('counts what many share once, for as long as somebody takes it', () => {
  const { waiting, broken, add } = setUp(100);
  const page = new Uint8Array(60);
  const leaves = Array.from({ length: 50 }, (_, index) => add(String(index), page));
  expect([broken, waiting.bytes]).toEqual([[], 60]);
  for (const leave of leaves.slice(1)) leave();
  expect(waiting.bytes).toBe(60);
  leaves[0]!();
  leaves[0]!();
  expect(waiting.bytes).toBe(0);
});

it('lets one that is larger than the bound have its time', () => {
  const { broken, add } = setUp(100);
  add('large', new Uint8Array(1_000));
  expect(broken).toEqual([]);
  add('next', new Uint8Array(1));
  expect(broken).toEqual(['large']);
});
