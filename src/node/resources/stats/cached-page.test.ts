import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { CachedPage } from './cached-page.js';

const { signal } = new AbortController();

it('serves for a while after it was rendered, and is rendered again then', async () => {
  const clock = new FakeClock();
  let made = 0;
  const page = new CachedPage({ clock, keepMs: 1_000, make: () => Promise.resolve(++made) });
  expect(await page.get(signal)).toBe(1);
  await clock.advance(999);
  expect(await page.get(signal)).toBe(1);
  await clock.advance(1);
  expect(await page.get(signal)).toBe(2);
});

it('is not kept when it could not be made', async () => {
  const clock = new FakeClock();
  const answers = [Promise.reject(new Error('no')), Promise.resolve('page')];
  answers[0]!.catch(() => undefined);
  const page = new CachedPage({ clock, keepMs: 1_000, make: () => answers.shift()! });
  await expect(page.get(signal)).rejects.toThrow('no');
  expect(await page.get(signal)).toBe('page');
});
