import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { defer } from '../deferred.js';
import { Turns } from './turns.js';

describe('turns', () => {
  it('are taken one after another under a key, whatever becomes of them, and beside those of other keys', async () => {
    const turns = new Turns();
    const gate = defer<undefined>();
    const order: string[] = [];
    const first = turns.run('a', async () => {
      await gate.promise;
      order.push('a1');
      throw new Error('failed');
    });
    const second = turns.run('a', async () => order.push('a2'));
    await turns.run('b', async () => order.push('b1'));
    gate.resolve(undefined);
    await expect(first).rejects.toThrow('failed');
    await second;
    expect(order).toEqual(['b1', 'a1', 'a2']);
  });
});

it('are over once all have settled, those too that were asked for meanwhile', async () => {
  const turns = new Turns();
  const done: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<void>((resolve) => ends.push(resolve)).then(() => void done.push(name));
  void turns.run('a', work('a')).then(() => turns.run('b', work('b')));
  const failed = turns.run('c', () => Promise.reject(new Error('failed')));
  await expect(failed).rejects.toThrow('failed');
  let over = false;
  const settled = turns.settle().then(() => (over = true));
  ends[0]!();
  await nextRound();
  expect([over, turns.keys]).toEqual([false, ['b']]);
  ends[1]!();
  await settled;
  expect(done).toEqual(['a', 'b']);
});
