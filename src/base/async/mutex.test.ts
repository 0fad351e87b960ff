import { setImmediate as immediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Mutex } from './mutex.js';

it('starts work when all earlier work is over, even if that failed', async () => {
  const works = new Mutex();
  const told: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => async (): Promise<string> => {
    told.push(`${name} begins`);
    await new Promise<void>((resolve) => ends.push(resolve));
    if (name === 'second') throw new Error('it failed');
    told.push(`${name} ends`);
    return name;
  };
  const first = works.run(work('first'));
  const second = works.run(work('second'));
  const third = works.run(work('third'));
  const failed = expect(second).rejects.toThrow('it failed');
  let isSettled = false;
  const settled = works.settled().then(() => (isSettled = true));
  for (let at = 0; at < 3; at++) {
    await immediate();
    expect([ends.length, isSettled]).toEqual([at + 1, false]);
    ends[at]!();
  }
  await failed;
  expect([await first, await third]).toEqual(['first', 'third']);
  await settled;
  expect(told).toEqual(['first begins', 'first ends', 'second begins', 'third begins', 'third ends']);
});
