import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type PodQosClass } from '#kube/pod/v1-pod-status.js';
import { ClassReserve, computeClassLimits } from './class-reserve.js';
import { type ProtectedPod } from './memory-protection.js';

const NEVER = new AbortController().signal;
const ALL = '/podloop/ab/kubepods';
const FOLDERS = { Guaranteed: '', Burstable: '/burstable', BestEffort: '/besteffort' };
const aPod = (qos: PodQosClass, name: string, requestBytes = 0n): ProtectedPod => ({
  ...{ path: `${ALL}${FOLDERS[qos]}/pod${name}`, qos, requestBytes },
});

function makeHarness(percent = 50) {
  const harness = {
    /** The limit of memory by group; undefined: none. */
    groups: new Map<string, bigint | undefined>(),
    ...{ slices: [] as string[], writes: 0, allocatable: 1_000n, usage: 0n },
    failure: undefined as Error | undefined,
    logger: new LogRecorder(),
  };
  const reserve = new ClassReserve({
    percent,
    readAllocatable: () =>
      harness.allocatable < 0n
        ? Promise.reject(new Error('EIO: no huge pages'))
        : Promise.resolve(harness.allocatable),
    limits: {
      memoryLimitOf: (group) => harness.groups.get(group),
      setMemory: (group, memoryBytes) => {
        if (harness.failure !== undefined) return Promise.reject(harness.failure);
        harness.writes++;
        harness.groups.set(group, memoryBytes);
        return Promise.resolve();
      },
      throwIfBelowWorkingSet: (_, memoryBytes) => {
        if (harness.usage >= memoryBytes) throw new Error(`below current usage (${harness.usage})`);
      },
    },
    setSlice: (slice, properties) => {
      harness.slices.push([slice, ...properties].join(' '));
      return Promise.resolve();
    },
    logger: harness.logger,
  });
  return Object.assign(harness, { reserve });
}

it.each([
  [100, 700n, 500n],
  [50, 850n, 750n],
  [0, 1_000n, 1_000n],
])('leaves to those above %i percent of what they request', (percent, burstable, bestEffort) => {
  const pods = [aPod('Guaranteed', 'g', 300n), aPod('Burstable', 'b', 200n), aPod('BestEffort', 'e')];
  expect([...computeClassLimits(1_000n, pods, percent)]).toEqual([
    ['Burstable', burstable],
    ['BestEffort', bestEffort],
  ]);
});

it('leaves nothing rather than less than nothing', () => {
  const pods = [aPod('Guaranteed', 'g', 2_000n), aPod('Burstable', 'b', 200n)];
  expect([...computeClassLimits(1_000n, pods, 100).values()]).toEqual([0n, 0n]);
});

it('limits the groups that have pods, and follows what pods request', async () => {
  const { reserve, groups, ...harness } = makeHarness(100);
  reserve.note('g', aPod('Guaranteed', 'g', 300n));
  await reserve.settle(NEVER);
  expect([...groups]).toEqual([]);
  reserve.note('b', aPod('Burstable', 'b', 200n));
  reserve.note('e', aPod('BestEffort', 'e'));
  await reserve.settle(NEVER);
  expect(Object.fromEntries(groups)).toEqual({ [`${ALL}/burstable`]: 700n, [`${ALL}/besteffort`]: 500n });
  reserve.forget('g');
  await reserve.settle(NEVER);
  expect(Object.fromEntries(groups)).toEqual({ [`${ALL}/burstable`]: 1_000n, [`${ALL}/besteffort`]: 800n });
  expect(harness.slices).toEqual([]);
});

it('writes what has changed alone, also when the machine is given more memory', async () => {
  const harness = makeHarness(100);
  harness.reserve.note('b', aPod('Burstable', 'b', 200n));
  await harness.reserve.settle(NEVER);
  await harness.reserve.settle(NEVER);
  expect(harness.writes).toBe(1);
  harness.allocatable = 2_000n;
  await harness.reserve.settle(NEVER);
  expect(harness.groups.get(`${ALL}/burstable`)).toBe(2_000n);
});

it('limits a group again that went with its last pod', async () => {
  const harness = makeHarness(100);
  harness.reserve.note('b', aPod('Burstable', 'b', 200n));
  await harness.reserve.settle(NEVER);
  harness.reserve.forget('b');
  harness.groups.clear();
  await harness.reserve.settle(NEVER);
  harness.reserve.note('c', aPod('Burstable', 'c', 100n));
  await harness.reserve.settle(NEVER);
  expect(harness.writes).toBe(2);
});

it('sets slices through systemd', async () => {
  const harness = makeHarness(100);
  const { reserve, slices } = harness;
  const path =
    '/pods.slice/pods-kubepods.slice/pods-kubepods-burstable.slice/pods-kubepods-burstable-podb.slice';
  reserve.note('b', { path, qos: 'Burstable', requestBytes: 5n });
  await reserve.settle(NEVER);
  expect(slices).toEqual(['pods-kubepods-burstable.slice MemoryMax=1000']);
  // The kernel would kill: it stays as it is until less is used.
  harness.usage = 900n;
  reserve.note('g', aPod('Guaranteed', 'g', 300n));
  await reserve.settle(NEVER);
  expect(slices).toHaveLength(1);
  harness.usage = 600n;
  await reserve.settle(NEVER);
  expect(slices[1]).toBe('pods-kubepods-burstable.slice MemoryMax=700');
});

it('takes back what an earlier agent has set where nothing is reserved, and touches nothing else', async () => {
  const harness = makeHarness(0);
  harness.groups.set(`${ALL}/burstable`, 700n);
  harness.reserve.note('b', aPod('Burstable', 'b', 200n));
  harness.reserve.note('e', aPod('BestEffort', 'e'));
  await harness.reserve.settle(NEVER);
  expect(Object.fromEntries(harness.groups)).toEqual({ [`${ALL}/burstable`]: undefined });
  expect(harness.writes).toBe(1);
});

it('never rejects, also where the machine cannot be read', async () => {
  const harness = makeHarness(100);
  harness.allocatable = -1n;
  harness.reserve.note('b', aPod('Burstable', 'b', 200n));
  await harness.reserve.settle(NEVER);
  expect(harness.logger.lines).toHaveLength(1);
});

it('logs once what cannot be set, and tries it again', async () => {
  const harness = makeHarness(100);
  harness.failure = new Error('attempting to set pod memory limit (5) below current usage (6)');
  harness.reserve.note('b', aPod('Burstable', 'b', 200n));
  await harness.reserve.settle(NEVER);
  await harness.reserve.settle(NEVER);
  expect(harness.logger.lines.map(({ message }) => message)).toEqual([
    'Memory of a class of service is not limited',
  ]);
  harness.failure = undefined;
  await harness.reserve.settle(NEVER);
  expect(harness.groups.get(`${ALL}/burstable`)).toBe(1_000n);
});
