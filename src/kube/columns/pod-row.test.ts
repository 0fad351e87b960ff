import { describe, expect, it } from 'vitest';
import { type ContainerStateObject, type ContainerStatusObject, type PodObject } from './kube-object.js';
import { podRow } from './pod-row.js';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const RUNNING: ContainerStateObject = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waiting = (reason: string): ContainerStateObject => ({ waiting: { reason } });
const ended = (exitCode: number, reason = '', signal = 0): ContainerStateObject => ({
  terminated: { exitCode, reason, signal },
});

interface Scene {
  readonly phase?: string;
  readonly reason?: string;
  readonly containers?: readonly ContainerStatusObject[];
  readonly init?: readonly ContainerStatusObject[];
  readonly sidecars?: readonly string[];
  readonly ready?: boolean;
  readonly deleted?: boolean;
  readonly initialized?: boolean;
}

function pod(scene: Scene): PodObject {
  const { phase = 'Running', reason, containers = [], init = [], sidecars = [], deleted } = scene;
  const condition = (type: string, is: boolean | undefined): { type: string; status: string } => ({
    type,
    status: is === true ? 'True' : 'False',
  });
  return {
    metadata: deleted === true ? { deletionTimestamp: '2026-01-01T00:09:00Z' } : {},
    spec: {
      containers: containers.map(({ name = 'c' }) => ({ name })),
      initContainers: init.map(({ name = 'i' }) => ({
        name,
        ...(sidecars.includes(name) ? { restartPolicy: 'Always' } : {}),
      })),
    },
    status: {
      phase,
      ...(reason === undefined ? {} : { reason }),
      containerStatuses: containers,
      initContainerStatuses: init,
      conditions: [condition('Ready', scene.ready), condition('Initialized', scene.initialized)],
    },
  };
}

const status = (scene: Scene): string => podRow(pod(scene), NOW).status;

describe('the status of a pod in a table', () => {
  it('says how far the pull of an image is', () => {
    const pulling = (reason: string, message: string): ContainerStateObject => ({
      waiting: { reason, message },
    });
    const state = pulling('ContainerCreating', 'Pulling 45% (120/266 MB)');
    const phase = 'Pending';
    expect(status({ phase, containers: [{ state }] })).toBe('ContainerCreating (pulling 45%)');
    expect(status({ phase, containers: [{ state }], deleted: true })).toBe('Terminating');
    const init = [{ name: 'i', state: pulling('PodInitializing', 'Unpacking 80% (213/266 MB)') }];
    expect(status({ phase, init, containers: [{ state: waiting('PodInitializing') }] })).toBe(
      'Init:0/1 (unpacking 80%)',
    );
    const failed = pulling('ErrImagePull', 'failed to pull image "a": Pulling 4% of nothing');
    expect(status({ phase, containers: [{ state: failed }] })).toBe('ErrImagePull');
  });

  it.each<[string, Scene]>([
    ['Running', { containers: [{ state: RUNNING, ready: true }] }],
    ['Pending', { phase: 'Pending' }],
    ['Evicted', { phase: 'Failed', reason: 'Evicted' }],
    ['CrashLoopBackOff', { containers: [{ state: waiting('CrashLoopBackOff') }] }],
    ['ContainerCreating', { phase: 'Pending', containers: [{ state: waiting('ContainerCreating') }] }],
    ['Completed', { phase: 'Succeeded', containers: [{ state: ended(0, 'Completed') }] }],
    ['OOMKilled', { containers: [{ state: ended(137, 'OOMKilled') }] }],
    ['ExitCode:3', { containers: [{ state: ended(3) }] }],
    ['Signal:9', { containers: [{ state: ended(137, '', 9) }] }],
    ['Error', { containers: [{ state: ended(1, 'Error') }, { state: waiting('CrashLoopBackOff') }] }],
    ['Terminating', { deleted: true, containers: [{ state: RUNNING, ready: true }] }],
    ['Completed', { deleted: true, phase: 'Succeeded', containers: [{ state: ended(0, 'Completed') }] }],
    ['Unknown', { deleted: true, reason: 'NodeLost' }],
    [
      'Running',
      { ready: true, containers: [{ state: ended(0, 'Completed') }, { state: RUNNING, ready: true }] },
    ],
    ['NotReady', { containers: [{ state: ended(0, 'Completed') }, { state: RUNNING, ready: true }] }],
    ['Init:0/2', { phase: 'Pending', init: [{ name: 'a', state: RUNNING }, { name: 'b' }] }],
    ['Init:1/2', { phase: 'Pending', init: [{ name: 'a', state: ended(0, 'Completed') }, { name: 'b' }] }],
    ['Init:0/1', { phase: 'Pending', init: [{ name: 'a', state: waiting('PodInitializing') }] }],
    ['Init:Error', { phase: 'Pending', init: [{ name: 'a', state: ended(1, 'Error') }] }],
    ['Init:ExitCode:4', { phase: 'Pending', init: [{ name: 'a', state: ended(4) }] }],
    ['Init:Signal:15', { phase: 'Pending', init: [{ name: 'a', state: ended(1, '', 15) }] }],
    [
      'Init:CrashLoopBackOff',
      { phase: 'Pending', init: [{ name: 'a', state: waiting('CrashLoopBackOff') }] },
    ],
    [
      'PodInitializing',
      {
        phase: 'Pending',
        init: [{ name: 'a', state: RUNNING, started: true, ready: true }],
        sidecars: ['a'],
        containers: [{ state: waiting('PodInitializing') }],
      },
    ],
  ])('is %s', (word, scene) => {
    expect(status(scene)).toBe(word);
  });
});

it('counts ready containers, including sidecars', () => {
  const scene: Scene = {
    init: [
      { name: 'setup', state: ended(0, 'Completed') },
      { name: 'helper', state: RUNNING, started: true, ready: true },
    ],
    sidecars: ['helper'],
    containers: [
      { state: RUNNING, ready: true },
      { state: RUNNING, ready: false },
    ],
  };
  expect(podRow(pod(scene), NOW).ready).toBe('2/3');
});

it('shows restarts, and how long ago the last one was', () => {
  const lastState = { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:09:50Z' } };
  const older = { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:01:00Z' } };
  const restarts = (containers: readonly ContainerStatusObject[]): string =>
    podRow(pod({ containers }), NOW).restarts;
  expect(restarts([{ state: RUNNING, restartCount: 0 }])).toBe('0');
  expect(
    restarts([
      { state: RUNNING, restartCount: 2, lastState },
      { restartCount: 1, lastState: older },
    ]),
  ).toBe('3 (10s ago)');
  expect(restarts([{ state: RUNNING, restartCount: 2 }])).toBe('2');
});

it('counts the restarts of init containers only until they are finished', () => {
  const failing: Scene = {
    phase: 'Pending',
    init: [{ name: 'a', restartCount: 4, state: ended(1, 'Error') }],
  };
  expect(podRow(pod(failing), NOW).restarts).toBe('4');
  const done: Scene = {
    init: [{ name: 'a', restartCount: 4, state: ended(0, 'Completed') }],
    containers: [{ state: RUNNING, restartCount: 1 }],
  };
  expect(podRow(pod(done), NOW).restarts).toBe('1');
});
