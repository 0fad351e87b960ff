import { describe, expect, it } from 'vitest';
import {
  type ContainerStatus,
  describeLastEnd,
  describeProbe,
  describeVolume,
  judgeContainer,
  judgePod,
  type PodObject,
  restartsOf,
} from './shown-pod.js';

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

it('says what a probe does and what a volume is', () => {
  const httpGet = { path: '/ready', port: 8080, scheme: 'HTTP' };
  expect(describeProbe({ httpGet, periodSeconds: 5, failureThreshold: 3 })).toBe(
    'GET http :8080/ready, every 5s, 3 failures count',
  );
  expect(describeProbe({ exec: { command: ['cat', '/tmp/ok'] } })).toBe('runs cat /tmp/ok');
  expect(describeProbe({ tcpSocket: { port: 'db' }, failureThreshold: 1 })).toBe('connects to :db');
  const main = { name: 'main', volumeMounts: [{ name: 'v', mountPath: '/etc/app', readOnly: true }] };
  expect(describeVolume({ name: 'v', configMap: { name: 'settings' } }, [main, { name: 'side' }])).toEqual({
    ...{ source: 'configMap settings', mounts: ['/etc/app in main, read-only'] },
  });
  expect(describeVolume({ name: 'w', emptyDir: {} }, [main])).toEqual({ source: 'emptyDir', mounts: [] });
});

it('says how the container ended that was restarted most', () => {
  const end = (exitCode: number) => ({ terminated: { exitCode, reason: 'Error' } });
  const pod = containers(
    { name: 'side', restartCount: 1, lastState: end(1) },
    { name: 'main', restartCount: 7, lastState: end(3) },
    { name: 'calm' },
  );
  expect(describeLastEnd(pod)).toBe('main ended: exit code 3, Error');
  expect(describeLastEnd(containers({ name: 'calm', restartCount: 0 }))).toBeUndefined();
});

it.each<[ContainerStatus['state'], boolean, string, string]>([
  [{ running: {} }, true, 'Running', 'ok'],
  [{ running: {} }, false, 'Running, not ready', 'warn'],
  [{ terminated: { exitCode: 0 } }, false, 'Ended with 0', 'quiet'],
  [{ terminated: { exitCode: 137 } }, false, 'Ended with 137', 'bad'],
  [{ terminated: {} }, false, 'Ended with ?', 'bad'],
  [{ waiting: { reason: 'ContainerCreating' } }, false, 'ContainerCreating', 'info'],
  [{ waiting: { reason: 'ErrImagePull' } }, false, 'ErrImagePull', 'bad'],
  [undefined, false, 'Waiting', 'bad'],
])('calls a container with %o and ready %s: %s', (state, ready, word, tone) => {
  expect(judgeContainer({ name: 'main', ready, ...(state && { state }) })).toEqual({ word, tone });
});
