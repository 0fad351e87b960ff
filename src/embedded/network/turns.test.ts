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
