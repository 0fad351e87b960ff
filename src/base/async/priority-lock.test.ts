import { expect, it } from 'vitest';
import { PriorityLock } from './priority-lock.js';

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('has one holder at a time, and admits the lowest number first, then in order of arrival', async () => {
  const lock = new PriorityLock();
  const order: string[] = [];
  const releaseFirst = await lock.acquire(5);
  for (const [name, priority] of [
    ['b', 2],
    ['a', 1],
    ['c', 2],
    ['d', 0],
  ] as const) {
    void lock.acquire(priority).then(async (release) => {
      order.push(name);
      await turn();
      release();
    });
  }
  await turn();
  expect([order, lock.waiting]).toEqual([[], 4]);
  releaseFirst();
  for (let i = 0; i < 10; i++) await turn();
  expect(order).toEqual(['d', 'a', 'b', 'c']);
  expect(lock.waiting).toBe(0);
});

it('admits nobody when a release is called twice', async () => {
  const lock = new PriorityLock();
  const release = await lock.acquire(1);
  let holders = 0;
  for (let i = 0; i < 2; i++) void lock.acquire(1).then(() => holders++);
  release();
  release();
  await turn();
  expect(holders).toBe(1);
});

it('forgets callers that stopped waiting', async () => {
  const lock = new PriorityLock();
  const release = await lock.acquire(1);
  const stopping = new AbortController();
  const reason = new Error('enough');
  const waiting = lock.acquire(1, stopping.signal);
  stopping.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect(lock.waiting).toBe(0);
  release();
  await expect(lock.acquire(1, stopping.signal)).rejects.toBe(reason);
  (await lock.acquire(1))();
});
