import { describe, expect, it } from 'vitest';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { computeGracePeriod } from './grace-period.js';

const pod = aNodePod({ spec: { terminationGracePeriodSeconds: 45 } });

describe('the grace period', () => {
  it.each([
    ["the pod's own when nobody asked", { current: undefined, pod, wanted: undefined }, 45],
    ['30 s when the pod says nothing either', { current: undefined, pod: without(), wanted: undefined }, 30],
    ['what was asked for', { current: undefined, pod, wanted: 60 }, 60],
    ['what holds, whatever the pod says', { current: 60, pod, wanted: undefined }, 60],
    ['the shorter one of what holds and what is asked for', { current: 20, pod, wanted: 10 }, 10],
    ['what holds when more is asked for', { current: 20, pod, wanted: 90 }, 20],
    ["the deletion's", { current: undefined, pod: deleted(12), wanted: undefined }, 12],
    [
      "the shorter one of the deletion's and what is asked for",
      { current: undefined, pod: deleted(12), wanted: 3 },
      3,
    ],
    ['1 s when none is asked for', { current: undefined, pod, wanted: 0 }, 1],
    ['1 s when the deletion is to be at once', { current: undefined, pod: deleted(0), wanted: undefined }, 1],
    ['1 s when the pod wants none', { current: undefined, pod: own(0), wanted: undefined }, 1],
    [
      'left open when only the runtime knows the pod',
      { current: undefined, pod: undefined, wanted: undefined },
      undefined,
    ],
    [
      'what was asked for when only the runtime knows the pod',
      { current: undefined, pod: undefined, wanted: 4 },
      4,
    ],
  ])('is %s', (_, facts, seconds) => {
    expect(computeGracePeriod(facts)).toBe(seconds);
  });
});

function own(terminationGracePeriodSeconds: number | undefined): ReturnType<typeof aNodePod> {
  return aNodePod({ spec: { terminationGracePeriodSeconds } });
}

function without(): ReturnType<typeof aNodePod> {
  return own(undefined);
}

function deleted(deletionGracePeriodSeconds: number): ReturnType<typeof aNodePod> {
  return aNodePod({ deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds });
}
