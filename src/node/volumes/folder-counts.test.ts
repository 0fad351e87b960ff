import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FolderCounts } from './folder-counts.js';

const never = new AbortController().signal;
const clock = new FakeClock();
let answers: ((bytes: Promise<bigint>) => void)[];
let counts: FolderCounts;

beforeEach(() => {
  answers = [];
  counts = new FolderCounts({
    measure: async () => new Promise((resolve) => answers.push(resolve)),
    ...{ ending: never, clock },
  });
});

it('counts a folder once for all who ask at about the same time', async () => {
  const asked = [counts.count('/a', never), counts.count('/a', never), counts.count('/b', never)];
  expect(answers).toHaveLength(2);
  for (const answer of answers) answer(Promise.resolve(7n));
  expect(await Promise.all(asked)).toEqual([7n, 7n, 7n]);
  await clock.advance(4_999);
  expect(await counts.count('/a', never)).toBe(7n);
  await clock.advance(1);
  void counts.count('/a', never);
  expect(answers).toHaveLength(3);
});

it('goes on counting when one of them waits no longer, and asks again after a failure', async () => {
  const stop = new AbortController();
  const [one, other] = [counts.count('/a', stop.signal), counts.count('/a', never)];
  stop.abort(new Error('no more'));
  await expect(one).rejects.toThrow('no more');
  answers[0]!(Promise.reject(new Error('du was killed')));
  await expect(other).rejects.toThrow('du was killed');
  void counts.count('/a', never);
  expect(answers).toHaveLength(2);
});
