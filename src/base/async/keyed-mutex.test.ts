import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { KeyedMutex } from './keyed-mutex.js';

describe('turns of a key', () => {
  it('are taken one after another under a key, whatever becomes of them, and beside those of other keys', async () => {
    const turns = new KeyedMutex();
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const order: string[] = [];
    const first = turns.run('a', async () => {
      await gate;
      order.push('a1');
      throw new Error('failed');
    });
    const second = turns.run('a', async () => order.push('a2'));
    await turns.run('b', async () => order.push('b1'));
    open();
    await expect(first).rejects.toThrow('failed');
    await second;
    expect(order).toEqual(['b1', 'a1', 'a2']);
  });
});

it('are over once all have settled, those too that were asked for meanwhile', async () => {
  const turns = new KeyedMutex();
  const done: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<void>((resolve) => ends.push(resolve)).then(() => void done.push(name));
  void turns.run('a', work('a')).then(() => turns.run('b', work('b')));
  const failed = turns.run('c', () => Promise.reject(new Error('failed')));
  await expect(failed).rejects.toThrow('failed');
  let over = false;
  const settled = turns.allSettled().then(() => (over = true));
  ends[0]!();
  await nextRound();
  expect([over, turns.keys]).toEqual([false, ['b']]);
  ends[1]!();
  await settled;
  expect(done).toEqual(['a', 'b']);
});

it('of one that stops waiting is skipped, and the next one does not begin early', async () => {
  const turns = new KeyedMutex();
  const order: string[] = [];
  let end: () => void = () => undefined;
  const first = turns.run('a', () => new Promise<void>((resolve) => (end = resolve)));
  await nextRound();
  const stop = new AbortController();
  const second = turns.run('a', async () => void order.push('second'), stop.signal);
  const third = turns.run('a', async () => void order.push('third'));
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(second).rejects.toBe(reason);
  let isSettled = false;
  const settled = turns.settled('a').then(() => (isSettled = true));
  await nextRound();
  expect([order, isSettled]).toEqual([[], false]);
  end();
  await Promise.all([first, third, settled]);
  expect([order, turns.keys]).toEqual([['third'], []]);
  await turns.settled('never seen');
});
