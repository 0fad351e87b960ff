import { expect, it } from 'vitest';
import { type TracedCall } from '../agents/trace-calls.js';
import { LatencyPartition, type TracedDeath } from './part-latency.js';

const call = (method: string, podUid: string | undefined, beganMs: number, endedMs: number): TracedCall => ({
  ...{ method, podUid, containerId: undefined, beganMs, endedMs },
});
const death: TracedDeath = {
  ...{ containerId: 'c1', podUid: 'p1', finishedMs: 1_000, toldMs: 1_100, replacedMs: 1_200 },
};

it('gives the event, the calls and the rest apart, and passes over what other pods ask', () => {
  const parts = new LatencyPartition({
    events: [
      { type: 'started', containerId: 'c1', atMs: 500 },
      { type: 'stopped', containerId: 'c1', atMs: 1_070 },
      { type: 'stopped', containerId: 'c1', atMs: 1_090 },
    ],
    calls: [
      call('ContainerStatus', 'p2', 1_070, 1_100),
      call('ListContainers', undefined, 1_070, 1_100),
      call('ListContainers', 'p1', 1_072, 1_080),
      call('ContainerStatus', 'p1', 1_080, 1_090),
      call('PodSandboxStatus', 'p1', 1_081, 1_088),
      call('CreateContainer', 'p1', 1_105, 1_150),
      call('StartContainer', 'p1', 1_152, 1_230),
    ],
  });
  expect(parts.untilTold(death)).toEqual({ totalMs: 100, eventMs: 70, callsMs: 18, ownMs: 12 });
  expect(parts.untilReplaced(death)).toEqual({ totalMs: 200, eventMs: 70, callsMs: 111, ownMs: 19 });
});

it('counts a look at all pods where no event came before the death was known', () => {
  const calls = [
    call('ListContainers', undefined, 1_060, 1_066),
    call('ListPodSandbox', undefined, 1_060, 1_064),
    call('ContainerStatus', 'p1', 1_070, 1_074),
  ];
  const told = { totalMs: 100, eventMs: 0, callsMs: 10, ownMs: 90 };
  expect(new LatencyPartition({ events: [], calls }).untilTold(death)).toEqual(told);
  const late = [{ type: 'stopped', containerId: 'c1', atMs: 1_101 }];
  expect(new LatencyPartition({ events: late, calls }).untilTold(death)).toEqual(told);
});

it('has no parts of what never came', () => {
  const parts = new LatencyPartition({ events: [], calls: [] });
  expect(parts.untilTold({ ...death, toldMs: undefined })).toBeUndefined();
  expect(parts.untilReplaced({ ...death, replacedMs: undefined })).toBeUndefined();
});
