import { expect, it } from 'vitest';
import { aSpecPod } from '#support/builders/node-pods.js';
import { toPodLines } from './pod-lines.js';

it.each([
  ['the time of its creation', 1_000],
  ['no time where that is not known', undefined],
])('the line of a pod has %s, whatever its start time is', (_what, createdMs) => {
  const pod = aSpecPod({});
  const { uid, namespace, name } = pod.metadata;
  const status = { phase: 'Running', startTime: '2026-01-01T00:00:00Z', containerStatuses: [] };
  const [line] = toPodLines({
    records: [{ pod: { uid, namespace, name }, status, isFinished: false }] as never,
    findPod: () => pod,
    isTerminating: () => false,
    findCreatedMs: (asked) => (asked === uid ? createdMs : 1),
  });
  expect(line!.createdAtMs).toBe(createdMs);
});

it.each([
  ['is gone when nothing but its record is left', true, undefined, 0],
  ['stays while it is shown with its end', true, 1_000, 1],
  ['stays while it is ending, whatever is known', false, undefined, 1],
])('a pod that was ended %s', (_what, isFinished, createdMs, lines) => {
  const pod = aSpecPod({});
  const { uid, namespace, name } = pod.metadata;
  const status = { phase: 'Failed', containerStatuses: [] };
  const found = toPodLines({
    records: [{ pod: { uid, namespace, name }, status, isFinished }] as never,
    findPod: () => pod,
    isTerminating: () => true,
    findCreatedMs: () => createdMs,
  });
  expect(found).toHaveLength(lines);
});
