import { expect, it } from 'vitest';
import { computeStatusPatch, isPartOf, type StatusPatch } from './status-patch.js';

const patch = (status: Readonly<Record<string, unknown>>): StatusPatch => ({
  metadata: { uid: 'uid' },
  status,
});
const ready = { type: 'Ready', status: 'True', reason: null, observedGeneration: 1 };

it.each<[string, Readonly<Record<string, unknown>>, boolean]>([
  ['nothing', {}, true],
  ['a field that is in it', { podIP: '10.0.0.1' }, true],
  ['another value of it', { podIP: '6.6.6.6' }, false],
  ['a field that is not in it', { hostIP: '10.0.0.1' }, false],
  ['that a field goes which is not in it', { reason: null }, false],
  ['a part of a condition', { conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }] }, true],
  ['more of a condition', { conditions: [{ ...ready, message: 'more' }] }, false],
  ['another condition', { conditions: [ready, { type: 'Other', status: 'True' }] }, false],
  ['that another condition goes', { conditions: [{ type: 'Other', $patch: 'delete' }] }, false],
])('a patch that says %s is a part of a patch, or not', (_, part, isIt) => {
  expect(isPartOf(patch(part), patch({ podIP: '10.0.0.1', conditions: [ready] }))).toBe(isIt);
});

it('a patch that says something of conditions is no part of one that does not', () => {
  expect(isPartOf(patch({ conditions: [ready] }), patch({ podIP: '10.0.0.1' }))).toBe(false);
});

it.each(['Guaranteed', undefined])('a class of service is told only where there is none: %s', (qosClass) => {
  const told = computeStatusPatch({
    api: {
      metadata: { uid: 'uid', namespace: 'default', name: 'pod' },
      status: qosClass === undefined ? {} : { qosClass },
    },
    status: { phase: 'Failed', reason: 'No', conditions: [], containerStatuses: [], qosClass: 'BestEffort' },
    mayHaveRunning: false,
    generation: undefined,
    nowMs: 0,
  });

  expect(told?.status).toMatchObject({ phase: 'Failed', reason: 'No' });
  expect(told?.status['qosClass']).toBe(qosClass === undefined ? 'BestEffort' : undefined);
});
