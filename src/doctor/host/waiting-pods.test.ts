import { describe, expect, it } from 'vitest';
import { type ListedSandbox } from '../runtime-port.js';
import { readWaitingPods } from './waiting-pods.js';

const NOW = Date.parse('2026-01-01T00:01:00Z');
const aPod = (name: string, status: object, metadata: object = {}): object => ({
  metadata: { uid: `uid-${name}`, namespace: 'default', name, ...metadata },
  status: { phase: 'Pending', startTime: '2026-01-01T00:00:20Z', ...status },
});
const waits = (reason: string, name = 'app', message = ''): object => ({
  name,
  state: { waiting: { reason, ...(message === '' ? {} : { message }) } },
});
const aSandbox = (name: string, ready: boolean): ListedSandbox => ({
  ...{ id: name, pod: { uid: '', namespace: 'default', name }, attempt: 0, ready, createdAtMs: 0 },
});
const read = (pods: readonly object[], sandboxes: readonly ListedSandbox[] = []) =>
  readWaitingPods({ items: pods }, sandboxes, NOW);

describe('the pods that wait', () => {
  it('have the first reason that is one of their own, since when, and whether there is a sandbox', () => {
    const pods = [
      aPod('web', { containerStatuses: [waits('ImagePullBackOff', 'app', 'Back-off pulling image "x"')] }),
      aPod('init', {
        initContainerStatuses: [waits('CrashLoopBackOff', 'setup')],
        containerStatuses: [waits('PodInitializing')],
      }),
      aPod('new', {}),
    ];
    expect(read(pods, [aSandbox('web', true), aSandbox('new', false)])).toEqual([
      {
        ...{ pod: { uid: 'uid-web', namespace: 'default', name: 'web' }, container: 'app' },
        ...{
          reason: 'ImagePullBackOff',
          message: 'Back-off pulling image "x"',
          forMs: 40_000,
          hasSandbox: true,
        },
      },
      {
        ...{ pod: { uid: 'uid-init', namespace: 'default', name: 'init' }, container: 'setup' },
        ...{ reason: 'CrashLoopBackOff', message: '', forMs: 40_000, hasSandbox: false },
      },
      {
        pod: { uid: 'uid-new', namespace: 'default', name: 'new' },
        ...{ reason: 'Pending', message: '', forMs: 40_000, hasSandbox: false },
      },
    ]);
  });

  it('are not those that run, have ended, are being ended, or only wait for an init container', () => {
    const running = { containerStatuses: [{ name: 'app', state: { running: {} } }], phase: 'Running' };
    const pods = [
      aPod('a', running),
      aPod('b', { phase: 'Succeeded', containerStatuses: [waits('Completed')] }),
      aPod('c', { phase: 'Failed', containerStatuses: [] }),
      aPod(
        'd',
        { containerStatuses: [waits('CrashLoopBackOff')] },
        { deletionTimestamp: '2026-01-01T00:00:30Z' },
      ),
      aPod('e', {
        initContainerStatuses: [{ name: 'i', state: { running: {} } }],
        containerStatuses: [waits('PodInitializing')],
      }),
    ];
    expect(read(pods)).toEqual([]);
  });

  it('are also those whose container ends again and again, as a kubelet alone does not call that waiting', () => {
    const ended = (exitCode: number, restartCount: number): object => ({
      ...{ name: 'app', restartCount, state: { terminated: { exitCode, reason: 'Error' } } },
    });
    const readOne = (status: object, restartPolicy?: string) =>
      read([{ ...aPod('web', { phase: 'Running', ...status }), spec: { restartPolicy } }]);
    expect(readOne({ containerStatuses: [ended(3, 1)] })).toMatchObject([
      {
        ...{ container: 'app', reason: 'CrashLoopBackOff' },
        message: 'it ended with exit code 3 (Error) after it had been started again once',
      },
    ]);
    expect(readOne({ containerStatuses: [ended(0, 2)] })).toMatchObject([
      { message: expect.stringContaining('2 times') as unknown },
    ]);
    expect(readOne({ initContainerStatuses: [ended(1, 2)], containerStatuses: [] }, 'Always')).toHaveLength(
      1,
    );
    // Once is an end like any other, and what has done its work or may not run again waits for nothing.
    expect(readOne({ containerStatuses: [ended(3, 0)] })).toEqual([]);
    expect(readOne({ containerStatuses: [ended(0, 2)] }, 'OnFailure')).toEqual([]);
    expect(readOne({ containerStatuses: [ended(3, 2)] }, 'Never')).toEqual([]);
    expect(readOne({ initContainerStatuses: [ended(0, 2)], containerStatuses: [] }, 'Always')).toEqual([]);
  });

  it.each([{}, { items: null }, { items: [{}] }, []])('are none in a page of another kind: %j', (page) => {
    expect(readWaitingPods(page, [], NOW).filter(({ pod }) => pod.name !== '')).toEqual([]);
  });
});
