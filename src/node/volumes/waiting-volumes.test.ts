import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { WaitingVolumes } from './waiting-volumes.js';

it('reports a pod once for which everything is there, and none that waits for something else by now', async () => {
  const clock = new FakeClock();
  const ready: string[] = [];
  const waiting = new WaitingVolumes({ clock, onReady: (uid) => ready.push(uid) });
  const stop = new AbortController();
  const running = waiting.run(stop.signal);
  let isThere = false;
  waiting.set('u1', [() => Promise.resolve(true), () => Promise.resolve(isThere)]);
  let answer: (isThere: boolean) => void = () => undefined;
  waiting.set('u2', [() => new Promise<boolean>((resolve) => (answer = resolve))]);
  waiting.set('u3', [() => Promise.reject(new Error('not there'))]);
  await clock.advance(1_000);
  // It was synced meanwhile, and lacks something else.
  waiting.set('u2', [() => Promise.resolve(false)]);
  answer(true);
  await clock.advance(1_000);
  expect(ready).toEqual([]);
  isThere = true;
  for (let looks = 0; looks < 3; looks++) await clock.advance(1_000);
  expect(ready).toEqual(['u1']);
  stop.abort();
  await running;
});
