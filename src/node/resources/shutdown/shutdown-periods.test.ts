import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { groupByPriority, sumPeriods, toShutdownPeriods } from './shutdown-periods.js';

const NONE = {
  shutdownGracePeriodMs: 0,
  shutdownGracePeriodCriticalPodsMs: 0,
  shutdownGracePeriodByPodPriority: [],
};
const period = (priority: number, shutdownGracePeriodSeconds: number) => ({
  priority,
  shutdownGracePeriodSeconds,
});
const aPod = (name: string, priority?: number): NodePod => {
  const pod = aNodePod({ name });
  return { ...pod, spec: { ...pod.spec, ...(priority === undefined ? {} : { priority }) } };
};
const shown = (periods: Parameters<typeof groupByPriority>[0], pods: readonly NodePod[]): string[] =>
  groupByPriority(periods, pods).map(
    (group) => `${group.priority}: ${group.pods.map(({ metadata }) => metadata.name).join(' ')}`,
  );

describe('the periods of a shutdown', () => {
  it('are none where nobody asks for them', () => {
    expect(toShutdownPeriods(NONE)).toEqual([]);
  });

  it('are two, of which critical pods have the second', () => {
    const written = { ...NONE, shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 };
    expect(toShutdownPeriods(written)).toEqual([period(0, 20), period(2_000_000_000, 10)]);
  });

  it('leave critical pods no time of their own where it is not said', () => {
    const periods = toShutdownPeriods({ ...NONE, shutdownGracePeriodMs: 30_000 });
    expect(periods).toEqual([period(0, 30), period(2_000_000_000, 0)]);
    expect(sumPeriods(periods)).toBe(30);
  });

  it('go from the lowest priority to the highest', () => {
    const byPriority = [period(100_000, 10), period(0, 60), period(1_000, 120)];
    expect(
      toShutdownPeriods({ ...NONE, shutdownGracePeriodByPodPriority: byPriority }).map(
        ({ priority }) => priority,
      ),
    ).toEqual([0, 1_000, 100_000]);
    expect(sumPeriods(byPriority)).toBe(190);
  });
});

describe('a pod', () => {
  const periods = [period(0, 1), period(1_000, 1), period(2_000_000_000, 1)];

  it('ends with those of the highest priority that is not above its own', () => {
    const pods = [aPod('none'), aPod('just-below', 999), aPod('at', 1_000), aPod('above', 1_001)];
    expect(shown(periods, pods)).toEqual(['0: none just-below', '1000: at above']);
  });

  it('ends first below the lowest priority, and last above the highest', () => {
    expect(shown(periods, [aPod('high', 2_000_001_000), aPod('low', -5)])).toEqual([
      ...['0: low', '2000000000: high'],
    ]);
  });

  it('is not waited for in a group without pods', () => {
    expect(shown(periods, [])).toEqual([]);
  });
});
