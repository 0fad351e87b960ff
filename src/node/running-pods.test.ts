import { expect, it } from 'vitest';
import { PodCache } from '../watch/pleg/pod-cache.js';
import { emptyPodStatus } from '../watch/observed/runtime.js';
import { aContainer, aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { runningPods } from './running-pods.js';

it('lists pods with something running, including one whose status is unavailable', () => {
  const clock = new FakeClock();
  const cache = new PodCache();
  for (const [uid, state] of [
    ['runs', 'running'],
    ['sick', 'running'],
    ['ended', 'exited'],
  ] as const) {
    const pod = aPod({ uid, containers: [aContainer({ id: uid, state })] });
    cache.set(uid, aPodStatus(pod), undefined, clock.stamp());
  }
  cache.set('sick', emptyPodStatus('sick'), new Error('no answer'), clock.stamp());
  expect(runningPods(cache).map(({ uid }) => uid)).toEqual(['runs', 'sick']);
});
