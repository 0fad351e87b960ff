import { describe, expect, it } from 'vitest';
import { type V1ContainerState, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { findHopeless, isStoryTold } from './demo-story.js';

function statusOf(state: V1ContainerState, restartCount = 0, more: Partial<V1PodStatus> = {}): V1PodStatus {
  const container = {
    name: 'a',
    state,
    lastState: {},
    ready: false,
    restartCount,
    image: 'i',
    imageID: '',
    started: false,
  };
  return {
    phase: 'Running',
    conditions: [],
    containerStatuses: [container],
    qosClass: 'BestEffort',
    ...more,
  };
}

const waiting = (reason: string): V1ContainerState => ({ waiting: { reason, message: 'why' } });
const ended = { terminated: { exitCode: 1, reason: 'Error', startedAt: null, finishedAt: null } };

describe('a pod of the demo', () => {
  it.each<[why: string, told: boolean, state: V1ContainerState, restarts: number]>([
    ['runs', true, { running: { startedAt: '2026-01-02T03:04:05Z' } }, 0],
    ['has ended', true, ended, 0],
    ['is being made', false, waiting('ContainerCreating'), 0],
    ['has failed once or twice', false, waiting('CrashLoopBackOff'), 1],
    ['has failed three times', true, waiting('CrashLoopBackOff'), 2],
  ])('that %s has told its story: %s', (_why, told, state, restarts) => {
    expect(isStoryTold(statusOf(state, restarts))).toBe(told);
  });

  it('whose image is not there can never run', () => {
    expect(findHopeless(statusOf(waiting('ErrImagePull')))).toBe('container a: ErrImagePull: why');
  });

  it('that was rejected can never run', () => {
    const rejected = {
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: 'too much',
      containerStatuses: [],
    } as const;
    expect(findHopeless(statusOf(ended, 0, rejected))).toBe('it was rejected: OutOfcpu: too much');
  });

  it('that fails and is started again has hope', () => {
    expect(findHopeless(statusOf(waiting('CrashLoopBackOff'), 5))).toBeUndefined();
    expect(findHopeless(statusOf(ended))).toBeUndefined();
  });
});
