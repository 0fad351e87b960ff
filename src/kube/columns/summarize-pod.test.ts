import { describe, expect, it } from 'vitest';
import { type Container } from '../container/container.js';
import {
  type PodConditionType,
  type V1ContainerState,
  type V1ContainerStatus,
  type V1PodStatus,
} from '../pod/v1-pod-status.js';
import { summarizePod } from './summarize-pod.js';

const ENDED_AT = '2026-01-02T03:04:05Z';

const running: V1ContainerState = { running: { startedAt: ENDED_AT } };
const waiting = (reason: string): V1ContainerState => ({ waiting: { reason } });
const ended = (exitCode: number, reason: string): V1ContainerState => ({
  terminated: { exitCode, reason, startedAt: ENDED_AT, finishedAt: ENDED_AT },
});

/** A container's name, state and the rest of its status. */
type Row = readonly [name: string, state: V1ContainerState, more?: Partial<V1ContainerStatus>];

function statusOf([name, state, more]: Row): V1ContainerStatus {
  const isRunning = state.running !== undefined;
  const basis = { ready: isRunning, started: isRunning, restartCount: 0, image: 'image', imageID: '' };
  return { name, state, lastState: {}, ...basis, ...more };
}

interface Pod {
  readonly phase?: V1PodStatus['phase'];
  readonly reason?: string;
  readonly init?: readonly Row[];
  /** Names of init containers that keep running. */
  readonly sidecars?: readonly string[];
  readonly regular: readonly Row[];
  readonly is?: readonly PodConditionType[];
  readonly isTerminating?: boolean;
}

function summarize({ phase = 'Running', reason, init = [], sidecars = [], regular, is = [], ...more }: Pod) {
  const toContainer = ([name]: Row): Container => ({
    ...{ name, image: 'image' },
    ...(sidecars.includes(name) ? { restartPolicy: 'Always' as const } : {}),
  });
  const status: V1PodStatus = {
    phase,
    ...(reason === undefined ? {} : { reason }),
    conditions: is.map((type) => ({
      ...{ type, status: 'True', lastProbeTime: null },
      lastTransitionTime: ENDED_AT,
    })),
    initContainerStatuses: init.map(statusOf),
    containerStatuses: regular.map(statusOf),
    qosClass: 'BestEffort',
  };
  const spec = { initContainers: init.map(toContainer), containers: regular.map(toContainer) };
  return summarizePod({ spec, status, isTerminating: more.isTerminating ?? false });
}

const begin: Row = ['a', waiting('PodInitializing')];

describe('the status of a pod', () => {
  const table: [word: string, why: string, pod: Pod][] = [
    ['Running', 'all run', { regular: [['a', running]] }],
    ['Pending', 'nothing is known of its containers', { phase: 'Pending', regular: [] }],
    [
      'ContainerCreating',
      'one is being made',
      { phase: 'Pending', regular: [['a', waiting('ContainerCreating')]] },
    ],
    ['CrashLoopBackOff', 'one waits for its restart', { regular: [['a', waiting('CrashLoopBackOff')]] }],
    [
      'ErrImagePull',
      'an image is not to be had',
      { phase: 'Pending', regular: [['a', waiting('ErrImagePull')]] },
    ],
    ['Completed', 'it succeeded', { phase: 'Succeeded', regular: [['a', ended(0, 'Completed')]] }],
    ['Error', 'it failed', { phase: 'Failed', regular: [['a', ended(1, 'Error')]] }],
    ['OOMKilled', 'it was killed for memory', { regular: [['a', ended(137, 'OOMKilled')]] }],
    ['ExitCode:7', 'it ended without a reason', { regular: [['a', ended(7, '')]] }],
    [
      'Error',
      'the first of two that ended speaks',
      {
        regular: [
          ['a', ended(1, 'Error')],
          ['b', ended(0, 'Completed')],
        ],
      },
    ],
    [
      'Error',
      'one failed and one runs',
      {
        regular: [
          ['a', ended(139, 'Error')],
          ['b', running],
        ],
      },
    ],
    [
      'Running',
      'one is through and the pod is ready',
      {
        regular: [
          ['a', ended(0, 'Completed')],
          ['b', running],
        ],
        is: ['Ready'],
      },
    ],
    [
      'NotReady',
      'one is through and the pod is not ready',
      {
        regular: [
          ['a', running],
          ['b', ended(0, 'Completed')],
        ],
      },
    ],
    [
      'Completed',
      'one is through and the other does not answer',
      {
        regular: [
          ['a', ended(0, 'Completed')],
          ['b', running, { ready: false }],
        ],
      },
    ],
    [
      'DeadlineExceeded',
      'its time is over and nothing of it was there',
      { phase: 'Failed', reason: 'DeadlineExceeded', regular: [] },
    ],
    ['OutOfcpu', 'it was rejected', { phase: 'Failed', reason: 'OutOfcpu', regular: [] }],
    [
      'Init:0/2',
      'the first init container runs',
      {
        phase: 'Pending',
        init: [
          ['i', running],
          ['j', waiting('PodInitializing')],
        ],
        regular: [begin],
      },
    ],
    [
      'Init:1/2',
      'the first init container is through',
      {
        phase: 'Pending',
        init: [
          ['i', ended(0, 'Completed')],
          ['j', running],
        ],
        regular: [begin],
      },
    ],
    [
      'Init:0/1',
      'the init container is to be made',
      { phase: 'Pending', init: [['i', waiting('PodInitializing')]], regular: [begin] },
    ],
    [
      'Init:Error',
      'an init container failed',
      { phase: 'Failed', init: [['i', ended(1, 'Error')]], regular: [begin] },
    ],
    [
      'Init:ExitCode:4',
      'an init container failed without a reason',
      { phase: 'Failed', init: [['i', ended(4, '')]], regular: [begin] },
    ],
    [
      'Init:CrashLoopBackOff',
      'an init container waits for its restart',
      { phase: 'Pending', init: [['i', waiting('CrashLoopBackOff')]], regular: [begin] },
    ],
    [
      'Init:ImagePullBackOff',
      'the image of an init container is not to be had',
      { phase: 'Pending', init: [['i', waiting('ImagePullBackOff')]], regular: [begin] },
    ],
    [
      'PodInitializing',
      'all init containers are through',
      { phase: 'Pending', init: [['i', ended(0, 'Completed')]], regular: [begin] },
    ],
    [
      'Init:1/2',
      'a sidecar has started and the next init container runs',
      {
        phase: 'Pending',
        sidecars: ['i'],
        init: [
          ['i', running],
          ['j', running],
        ],
        regular: [begin],
      },
    ],
    [
      'Running',
      'a sidecar and a container run',
      { sidecars: ['i'], init: [['i', running]], regular: [['a', running]] },
    ],
    [
      'Running',
      'a sidecar failed in a pod that is initialized',
      {
        sidecars: ['i'],
        init: [['i', ended(1, 'Error')]],
        regular: [
          ['a', ended(0, 'Completed')],
          ['b', running],
        ],
        is: ['Initialized', 'Ready'],
      },
    ],
    ['Terminating', 'it is on its way out', { isTerminating: true, regular: [['a', running]] }],
    [
      'Terminating',
      'it is on its way out before it ran',
      { phase: 'Pending', isTerminating: true, regular: [['a', waiting('ContainerCreating')]] },
    ],
    [
      'Terminating',
      'it is on its way out, and nobody saw how a container ended',
      { phase: 'Failed', isTerminating: true, regular: [['a', ended(137, 'ContainerStatusUnknown')]] },
    ],
    [
      'Completed',
      'it had ended before somebody wanted it gone',
      { phase: 'Succeeded', isTerminating: true, regular: [['a', ended(0, 'Completed')]] },
    ],
  ];

  it.each(table)('is %s when %s', (word, _why, pod) => {
    expect(summarize(pod).status).toBe(word);
  });
});

describe('ready containers', () => {
  it('are those that run and are ready, including sidecars', () => {
    const pod: Pod = {
      sidecars: ['s'],
      init: [
        ['i', ended(0, 'Completed'), { ready: true }],
        ['s', running],
      ],
      regular: [
        ['a', running],
        ['b', running, { ready: false }],
      ],
    };
    expect(summarize(pod)).toMatchObject({ ready: 2, total: 3 });
  });

  it('do not include one that ended, whatever its earlier status', () => {
    expect(summarize({ regular: [['a', ended(0, 'Completed'), { ready: true }]] })).toMatchObject({
      ready: 0,
      total: 1,
    });
  });
});

describe('restarts', () => {
  const restarted = (restartCount: number) => ({ restartCount, lastState: ended(1, 'Error') });

  it('are counted over all regular containers, with the time of the last', () => {
    const pod: Pod = {
      regular: [
        ['a', running, restarted(2)],
        ['b', running, { restartCount: 1 }],
      ],
    };
    expect(summarize(pod)).toMatchObject({ restarts: 3, lastRestartAtMs: Date.parse(ENDED_AT) });
  });

  it('are those of init containers until these are finished', () => {
    const init: Row[] = [['i', waiting('CrashLoopBackOff'), restarted(4)]];
    expect(summarize({ phase: 'Pending', init, regular: [begin] })).toMatchObject({ restarts: 4 });
  });

  it('leave out finished init containers, but not sidecars', () => {
    const pod: Pod = {
      sidecars: ['s'],
      init: [
        ['i', ended(0, 'Completed'), restarted(4)],
        ['s', running, restarted(2)],
      ],
      regular: [['a', running]],
    };
    expect(summarize(pod)).toMatchObject({ restarts: 2 });
  });

  it('have no time if nothing was restarted', () => {
    expect(summarize({ regular: [['a', running]] })).toMatchObject({
      restarts: 0,
      lastRestartAtMs: undefined,
    });
  });
});
