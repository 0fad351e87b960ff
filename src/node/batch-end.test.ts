import { describe, expect, it } from 'vitest';
import { aboutWhole, type ConfigProblem } from './desired/config-problem.js';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import { findBatchFailures } from './batch-end.js';

const POD = aSpecPod({ restartPolicy: 'Never' });

function aStatus(fields: Partial<V1PodStatus>): V1PodStatus {
  return { phase: 'Succeeded', conditions: [], containerStatuses: [], qosClass: 'BestEffort', ...fields };
}

function anEnd(name: string, exitCode: number, message?: string): V1ContainerStatus {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const terminated = { exitCode, reason, startedAt: null, finishedAt: null, ...(message && { message }) };
  const rest = { ready: false, restartCount: 0, image: 'i', imageID: '', started: false };
  return { name, state: { terminated }, lastState: {}, ...rest };
}

function judge(status: V1PodStatus | undefined, problems: readonly ConfigProblem[] = [], isOver = true) {
  return findBatchFailures({ pods: [POD], findStatus: () => status, isOver: () => isOver, problems });
}

describe('a batch', () => {
  it.each([
    ['of which nothing is known', undefined, true],
    ['that runs', aStatus({ phase: 'Running' }), true],
    ['that has ended and is still worked on', aStatus({}), false],
  ])('goes on as long as there is a pod %s', (_which, status, isOver) => {
    expect(judge(status, [], isOver)).toBeUndefined();
  });

  it('succeeds when all of its pods have', () => {
    expect(judge(aStatus({ containerStatuses: [anEnd('a', 0)] }))).toEqual([]);
  });

  it('does not succeed when a pod was deleted before', () => {
    const stopped = [{ namespace: 'default', name: 'gone' }];
    const view = { findStatus: () => aStatus({}), isOver: () => true, problems: [], stopped };
    expect(findBatchFailures({ pods: [POD], ...view })).toEqual(['pod default/gone was deleted']);
    expect(findBatchFailures({ pods: [], ...view })).toEqual(['pod default/gone was deleted']);
  });

  it.each([
    ['none', undefined],
    ['good', []],
    [{ why: 'DeadlineExceeded: too late' }, ['job default/sum failed: DeadlineExceeded: too late']],
  ] as const)('goes by the end of a Job, not by that of each of its pods: %j', (end, expected) => {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'sum', uid: 'u' };
    const pods = [{ ...POD, metadata: { ...POD.metadata, ownerReferences: [owner] } }];
    const jobs = [{ name: 'default/sum', end }];
    const view = { findStatus: () => aStatus({ phase: 'Failed' }), isOver: () => true, problems: [] };
    expect(findBatchFailures({ pods, jobs, ...view })).toEqual(expected);
  });

  it('names the containers that failed, and what they said', () => {
    const ends = {
      initContainerStatuses: [anEnd('i', 0)],
      containerStatuses: [anEnd('a', 0), anEnd('b', 3, 'no\n')],
    };
    expect(judge(aStatus({ phase: 'Failed', ...ends }))).toEqual([
      'pod default/web failed: container b ended with 3 (Error): no',
    ]);
  });

  it('names the reason of a pod that did not end by itself', () => {
    const why = { reason: 'OutOfcpu', message: 'too little' };
    expect(judge(aStatus({ phase: 'Failed', ...why }))).toEqual([
      'pod default/web failed: OutOfcpu: too little',
    ]);
    expect(judge(aStatus({ phase: 'Failed' }))).toEqual(['pod default/web failed']);
  });

  it('fails by a manifest that no pod could be made of, and by a folder that is not there', () => {
    const missing = aboutWhole('file', '/pods', 'unreadable', 'does not exist');
    const syntax = aboutWhole('file', '/pods/a.yaml', 'syntax', 'no YAML');
    expect(judge(aStatus({}), [missing, syntax])).toEqual([
      '/pods: does not exist',
      '/pods/a.yaml:1:1: no YAML',
    ]);
  });

  it('does not fail by a URL that was read before, or by what runs and cannot be kept', () => {
    const away = aboutWhole('http', 'http://x/', 'unreadable', 'does not answer');
    const full = aboutWhole('file', '/last-good', 'not-kept', 'no space');
    expect(judge(aStatus({}), [away, full])).toEqual([]);
  });

  it('fails when there was no pod', () => {
    const view = { pods: [], findStatus: () => undefined, isOver: () => true };
    expect(findBatchFailures({ ...view, problems: [] })).toEqual(['there was no pod to run']);
    const problem = aboutWhole('stdin', '<stdin>', 'syntax', 'there is no pod in it');
    expect(findBatchFailures({ ...view, problems: [problem] })).toEqual(['<stdin>: there is no pod in it']);
  });
});
