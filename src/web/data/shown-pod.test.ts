import { describe, expect, it } from 'vitest';
import { type ContainerStatus, judgePod, type PodObject, restartsOf } from './shown-pod.js';

function aPod(status: PodObject['status'], metadata: object = {}): PodObject {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u1', ...metadata },
    ...(status && { status }),
  };
}

const containers = (...containerStatuses: ContainerStatus[]): PodObject =>
  aPod({ phase: 'Running', containerStatuses });

describe('the verdict on a pod', () => {
  it.each<[string, PodObject, string, string]>([
    ['runs', containers({ name: 'main', ready: true, state: { running: {} } }), 'Running', 'ok'],
    ['ends', aPod({ phase: 'Running' }, { deletionTimestamp: 'x' }), 'Terminating', 'warn'],
    ['has succeeded', aPod({ phase: 'Succeeded' }), 'Completed', 'quiet'],
    [
      'starts',
      aPod({
        phase: 'Pending',
        containerStatuses: [{ name: 'a', state: { waiting: { reason: 'ContainerCreating' } } }],
      }),
      'ContainerCreating',
      'info',
    ],
    ['is not known', aPod(undefined), 'Unknown', 'info'],
  ])('that %s', (_, pod, word, tone) => {
    expect(judgePod(pod)).toMatchObject({ word, tone });
  });

  it('says why a container waits, and how it had ended', () => {
    const pod = containers({
      ...{ name: 'main', state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } } },
      lastState: { terminated: { exitCode: 3, reason: 'Error' } },
    });
    expect(judgePod(pod)).toEqual({
      ...{ word: 'CrashLoopBackOff', tone: 'bad' },
      why: 'main: back-off 40s · main ended: exit code 3, Error',
    });
  });

  it('names the container that is not ready, and the one that failed', () => {
    expect(judgePod(containers({ name: 'main', ready: false, state: { running: {} } }))).toMatchObject({
      ...{ word: 'NotReady', why: 'main is not ready' },
    });
    const failed = aPod({
      phase: 'Failed',
      containerStatuses: [{ name: 'job', state: { terminated: { exitCode: 2, reason: 'Error' } } }],
    });
    expect(judgePod(failed)).toMatchObject({ tone: 'bad', why: 'job ended: exit code 2, Error' });
  });
});

it('counts the restarts of all containers, those of init containers too', () => {
  const pod = aPod({
    containerStatuses: [{ name: 'a', restartCount: 2 }],
    initContainerStatuses: [{ name: 'b', restartCount: 1 }, { name: 'c' }],
  });
  expect(restartsOf(pod)).toBe(3);
});
