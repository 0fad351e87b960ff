import { expect, it } from 'vitest';
import { type PodPhase, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { toIsOver, untilFinished } from './finished-pods.js';

it.each([
  ['api', true, true, undefined, true],
  ['api', true, false, 'Failed', true],
  // The disk has not taken its end, and nobody else knows of it.
  ['api', true, false, 'Running', false],
  ['api', true, false, undefined, false],
  ['api', false, true, 'Failed', false],
  ['file', true, true, 'Failed', false],
] as const)(
  'a pod of source %s, finished: %s, its end on disk: %s, reported as %s, is over: %s',
  (source, isFinished, isKept, phase: PodPhase | undefined, isOver) => {
    const is = toIsOver({
      desired: { find: (uid) => (uid === 'uid-web' ? aNodePod({ source }) : undefined) },
      workers: { isFinished: () => isFinished },
      endedPods: { isKept: () => isKept },
      findReported: () => phase && ({ phase } as V1PodStatus),
    });
    expect([is('uid-web'), is('uid-other')]).toEqual([isOver, false]);
  },
);

it.each(['isFinished', 'isForgotten'] as const)('a pod is waited for until it %s', async (end) => {
  const clock = new FakeClock();
  const state = { isFinished: false, isForgotten: false };
  const workers = { isFinished: () => state.isFinished, isKnown: () => !state.isForgotten };
  let isDone = false;
  const waiting = untilFinished('u', { workers, clock }, new AbortController().signal).then(
    () => (isDone = true),
  );
  await clock.advance(10_000);
  expect(isDone).toBe(false);
  state[end] = true;
  await clock.advance(500);
  await waiting;
});

it('nobody waits for a pod when the agent ends', async () => {
  const workers = { isFinished: () => false, isKnown: () => true };
  const stop = new AbortController();
  const waiting = untilFinished('u', { workers, clock: new FakeClock() }, stop.signal);
  stop.abort(new Error('the end'));
  await expect(waiting).rejects.toThrow('the end');
});
