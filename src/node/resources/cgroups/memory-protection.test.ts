import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type Protection } from './group-limits.js';
import { findMemoryQos, MemoryProtection, type ProtectedPod } from './memory-protection.js';

const NEVER = new AbortController().signal;
const ALL = '/podloop/ab/kubepods';
const GROUPS = { all: ALL, above: ['/podloop', '/podloop/ab'] };
const guaranteed = (name: string, requestBytes: bigint): ProtectedPod => ({
  ...{ path: `${ALL}/pod${name}`, qos: 'Guaranteed', requestBytes },
});
const burstable = (name: string, requestBytes: bigint): ProtectedPod => ({
  ...{ path: `${ALL}/burstable/pod${name}`, qos: 'Burstable', requestBytes },
});

function makeHarness(isReserved = true) {
  const harness = {
    /** As `min low`, by group. */
    groups: new Map<string, string>(),
    ...{ slices: [] as string[], writes: 0, failure: undefined as Error | undefined },
    logger: new LogRecorder(),
  };
  const read = (group: string): Protection | undefined => {
    const [min, low] = harness.groups.get(group)?.split(' ') ?? [];
    return min === undefined ? undefined : { minBytes: BigInt(min), lowBytes: BigInt(low!) };
  };
  const open = (more = isReserved): MemoryProtection =>
    new MemoryProtection({
      isReserved: more,
      limits: {
        protectionOf: read,
        protect: (group, { minBytes, lowBytes }) => {
          if (harness.failure !== undefined) return Promise.reject(harness.failure);
          harness.writes++;
          harness.groups.set(group, `${minBytes} ${lowBytes}`);
          return Promise.resolve(true);
        },
      },
      setSlice: (slice, properties) => {
        harness.slices.push([slice, ...properties].join(' '));
        return Promise.resolve();
      },
      logger: harness.logger,
    });
  return Object.assign(harness, { open });
}

it('keeps what pods request in their groups, and for all those above', async () => {
  const harness = makeHarness();
  const protection = harness.open();
  protection.note('g', guaranteed('g', 100n));
  protection.note('b1', burstable('b1', 30n));
  protection.note('b2', burstable('b2', 3n));
  protection.note('e', { path: `${ALL}/besteffort/pode`, qos: 'BestEffort', requestBytes: 0n });
  await protection.settle(GROUPS, NEVER);
  expect(Object.fromEntries(harness.groups)).toEqual({
    ...{ '/podloop': '133 33', '/podloop/ab': '133 33', [ALL]: '133 33' },
    ...{ [`${ALL}/burstable`]: '0 33', [`${ALL}/podg`]: '100 0' },
    ...{ [`${ALL}/burstable/podb1`]: '0 30', [`${ALL}/burstable/podb2`]: '0 3' },
  });
  expect(protection.total).toEqual({ minBytes: 100n, lowBytes: 33n });
});

it('writes only what has changed, and takes away what pods that are gone have requested', async () => {
  const harness = makeHarness();
  const protection = harness.open();
  protection.note('b', burstable('b', 30n));
  await protection.settle(GROUPS, NEVER);
  const { writes } = harness;
  await protection.settle(GROUPS, NEVER);
  expect(harness.writes).toBe(writes);
  protection.note('b', burstable('b', 40n));
  await protection.settle(GROUPS, NEVER);
  expect(harness.groups.get(`${ALL}/burstable`)).toBe('0 40');
  await protection.forget('b', NEVER);
  await protection.settle(GROUPS, NEVER);
  for (const group of [...GROUPS.above, ALL, `${ALL}/burstable`])
    expect(harness.groups.get(group)).toBe('0 0');
});

it('sets slices through systemd, which forgets them with their pods', async () => {
  const harness = makeHarness();
  const protection = harness.open();
  const all = '/pods.slice/pods-kubepods.slice';
  const path = `${all}/pods-kubepods-burstable.slice/pods-kubepods-burstable-podb.slice`;
  protection.note('b', { path, qos: 'Burstable', requestBytes: 5n });
  await protection.settle({ all, above: [] }, NEVER);
  expect(harness.slices).toEqual([
    'pods-kubepods.slice MemoryMin=5 MemoryLow=5',
    'pods-kubepods-burstable.slice MemoryMin=0 MemoryLow=5',
    'pods-kubepods-burstable-podb.slice MemoryMin=0 MemoryLow=5',
  ]);
  await protection.forget('b', NEVER);
  expect(harness.slices.slice(3)).toEqual(['pods-kubepods-burstable-podb.slice']);
  expect(harness.groups.size).toBe(0);
});

it('takes back once what an earlier agent has set for all pods, and touches nothing else, where nothing is kept', async () => {
  const harness = makeHarness(false);
  harness.groups.set(ALL, '7 7').set('/podloop', '0 0');
  const protection = harness.open();
  protection.note('b', burstable('b', 30n));
  await protection.settle(GROUPS, NEVER);
  expect(Object.fromEntries(harness.groups)).toEqual({ [ALL]: '0 0', '/podloop': '0 0' });
  expect(harness.writes).toBe(1);
  harness.groups.set(ALL, '8 8');
  await protection.settle(GROUPS, NEVER);
  expect(harness.groups.get(ALL)).toBe('8 8');
  expect(protection.total).toEqual({ minBytes: 0n, lowBytes: 0n });
});

it('logs once what cannot be set, and tries it again', async () => {
  const harness = makeHarness();
  harness.failure = new Error('EACCES: permission denied');
  const protection = harness.open();
  protection.note('g', guaranteed('g', 100n));
  await protection.settle(GROUPS, NEVER);
  await protection.settle(GROUPS, NEVER);
  expect(harness.logger.lines.map(({ message }) => message)).toEqual(['Memory of pods is not reserved']);
  harness.failure = undefined;
  await protection.settle(GROUPS, NEVER);
  expect(harness.groups.get(`${ALL}/podg`)).toBe('100 0');
});

it('gives containers nothing on cgroup v1, and where nothing is asked for', () => {
  const v2 = '25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n';
  const v1 = '25 1 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n';
  const options = { memoryReservationPolicy: 'TieredReservation', memoryThrottlingFactor: 0.5 } as const;
  expect(findMemoryQos(options, 9n, v2)).toEqual({
    ...{ isReserved: true, throttlingFactor: 0.5, allocatableBytes: 9n },
  });
  expect(findMemoryQos(options, 9n, v1)).toBeUndefined();
  const none = { memoryReservationPolicy: 'None', memoryThrottlingFactor: undefined } as const;
  expect(findMemoryQos(none, 9n, v2)).toBeUndefined();
  expect(findMemoryQos({ ...none, memoryThrottlingFactor: 1 }, 9n, v2)).toMatchObject({ isReserved: false });
});
