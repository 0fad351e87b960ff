import { describe, expect, it } from 'vitest';
import { type Volume } from '#kube/pod/volume.js';
import { aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';
import { SettledPods } from './settled-pods.js';

const pod = aNodePod();
const observed = aPodStatus(aPod());
const PERIOD_MS = 10 * 60_000;
const NOTHING_TO_DO: SyncPodResult = { isTerminal: false, unchanged: true };

function withVolumes(volumes: readonly Volume[]) {
  return { ...pod, spec: { ...pod.spec, volumes } };
}

describe('a pod whose last sync had nothing to do', () => {
  it('is synced again each ten minutes, the first time within them', async () => {
    const clock = new FakeClock();
    const settled = new SettledPods({ clock });
    const turnsMs: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const startMs = clock.monotonicMs();
      settled.note(pod, observed, NOTHING_TO_DO);
      while (settled.has(pod, observed)) clock.stall(1_000);
      turnsMs.push(clock.monotonicMs() - startMs);
    }
    expect(turnsMs[0]).toBeLessThanOrEqual(PERIOD_MS);
    expect(turnsMs[1]).toBeGreaterThan(PERIOD_MS - 2_000);
    expect(turnsMs.slice(1).every((turnMs) => turnMs <= PERIOD_MS)).toBe(true);
  });

  it('that settled with others has a time of its own', async () => {
    const clock = new FakeClock();
    const settled = new SettledPods({ clock });
    const pods = Array.from({ length: 1_000 }, (_, nr) => aNodePod({ uid: `pod-${nr}` }));
    for (const one of pods) settled.note(one, observed, NOTHING_TO_DO);
    const countLeft = () => pods.filter((one) => settled.has(one, observed)).length;
    let left = countLeft();
    for (let minute = 0; minute < 10; minute++) {
      clock.stall(60_000);
      const due = left - countLeft();
      expect(due).toBeGreaterThan(50);
      expect(due).toBeLessThan(150);
      left -= due;
    }
    expect(left).toBe(0);
  });

  it('is not settled once it was edited, or something was seen of it', () => {
    const settled = new SettledPods({ clock: new FakeClock() });
    settled.note(pod, observed, NOTHING_TO_DO);
    expect(settled.has({ ...pod }, observed)).toBe(false);
    expect(settled.has(pod, { ...observed })).toBe(false);
    expect(settled.has(pod, observed)).toBe(true);
    settled.forget(pod.metadata.uid);
    expect(settled.has(pod, observed)).toBe(false);
  });

  it.each<[string, readonly Volume[], boolean]>([
    ['an emptyDir', [{ name: 'a', emptyDir: {} }], true],
    ['a folder of the node', [{ name: 'a', hostPath: { path: '/srv' } }], false],
    [
      'an emptyDir and a ConfigMap',
      [
        { name: 'a', emptyDir: {} },
        { name: 'b', configMap: { name: 'c' } },
      ],
      false,
    ],
  ])('with %s is settled or not', (_, volumes, expected) => {
    const settled = new SettledPods({ clock: new FakeClock() });
    const one = withVolumes(volumes);
    settled.note(one, observed, NOTHING_TO_DO);
    expect(settled.has(one, observed)).toBe(expected);
  });
});

it.each<[string, SyncPodResult]>([
  ['changed something', { isTerminal: false }],
  ['asked for a time', { ...NOTHING_TO_DO, requeueAfterMs: 5_000 }],
  ['ended the pod', { ...NOTHING_TO_DO, isTerminal: true }],
])('a pod whose last sync %s is not settled, whatever was before', (_, result) => {
  const settled = new SettledPods({ clock: new FakeClock() });
  settled.note(pod, observed, NOTHING_TO_DO);
  settled.note(pod, observed, result);
  expect(settled.has(pod, observed)).toBe(false);
});
