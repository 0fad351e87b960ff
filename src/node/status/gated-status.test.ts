import { expect, it } from 'vitest';
import { aSpecPod } from '#support/builders/node-pods.js';
import { isGatedStatus } from '#kube/pod/v1-pod-status.js';
import { computeGatedStatus } from './gated-status.js';

it('says of a pod with gates that it is not scheduled, since when and why, and nothing else', () => {
  const pod = aSpecPod({ activeDeadlineSeconds: 1 });
  const first = computeGatedStatus(pod, [], Date.UTC(2026, 0, 2));
  expect(first).toEqual({
    phase: 'Pending',
    conditions: [
      {
        ...{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', lastProbeTime: null },
        message: 'Scheduling is blocked due to non-empty scheduling gates',
        lastTransitionTime: '2026-01-02T00:00:00Z',
      },
    ],
    containerStatuses: [],
    qosClass: 'BestEffort',
  });
  expect(computeGatedStatus(pod, first.conditions, Date.UTC(2026, 0, 3))).toEqual(first);
  expect(isGatedStatus(first)).toBe(true);
  expect(isGatedStatus({ conditions: [{ ...first.conditions[0]!, status: 'True', reason: '' }] })).toBe(
    false,
  );
});
