import { beforeEach, describe, expect, it } from 'vitest';
import { type ContainerStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ContainerAges } from './container-ages.js';
import { type RunTimes } from './pod-actions.js';

const HOUR_MS = 3_600_000;
let clock: FakeClock;
let ages: ContainerAges;

beforeEach(() => {
  clock = new FakeClock();
  ages = new ContainerAges({ clock });
});

const nowNs = (): bigint => BigInt(clock.now()) * 1_000_000n;

function container(fields: Partial<ContainerStatus> = {}): ContainerStatus {
  const { state = 'running' } = fields;
  return aContainerStatus(aContainer({ state }), { startedAtNs: nowNs(), finishedAtNs: 0n, ...fields });
}

const observe = (...containers: ContainerStatus[]): RunTimes => ages.observe('uid', containers);

describe.each([0, HOUR_MS, -HOUR_MS])('with a clock on the wall that jumps by %i ms', (jumpMs) => {
  it('measures how long a container has been running', () => {
    const running = container();
    observe(running);
    clock.jumpWallClock(jumpMs);
    clock.stall(5_000);
    expect(observe(running).ranForMs(running)).toBe(5_000);
  });

  it('measures how long it ran and has been dead', () => {
    const running = container();
    observe(running);
    clock.stall(60_000);
    const dead = { ...running, state: 'exited', finishedAtNs: nowNs() } as const;
    clock.stall(100);
    observe(dead);
    clock.jumpWallClock(jumpMs);
    clock.stall(3_000);
    const times = observe(dead);
    expect([times.ranForMs(dead), times.endedForMs(dead)]).toEqual([60_000, 3_100]);
  });

  it('believes of an end no more than the time since the last look, and counts from now where the wall says more', () => {
    const running = container();
    observe(running);
    clock.stall(60_000);
    const dead = { ...running, state: 'exited', finishedAtNs: nowNs() } as const;
    observe(running);
    clock.jumpWallClock(jumpMs);
    clock.stall(2_000);
    const times = observe(dead);
    expect(times.endedForMs(dead)).toBe(jumpMs === 0 ? 2_000 : 0);
    expect(times.ranForMs(dead)).toBeLessThanOrEqual(62_000);
  });

  it('counts a pod in which nothing changed as looked at', () => {
    const running = container();
    observe(running);
    clock.stall(600_000);
    ages.observeSame('uid');
    const dead = { ...running, state: 'exited', finishedAtNs: nowNs() } as const;
    clock.jumpWallClock(120_000);
    clock.stall(2_000);
    expect(observe(dead).endedForMs(dead)).toBe(0);
  });

  it('believes no more of a start that was not seen before', () => {
    observe();
    const running = container();
    clock.jumpWallClock(jumpMs);
    clock.stall(2_000);
    expect(observe(running).ranForMs(running)).toBe(jumpMs === 0 ? 2_000 : 0);
  });
});

describe('after a start of the agent', () => {
  it('goes by the clock on the wall', () => {
    const dead = container({
      state: 'exited',
      startedAtNs: nowNs() - 700_000n * 1_000_000n,
      finishedAtNs: nowNs() - 40_000n * 1_000_000n,
    });
    const times = observe(dead);
    expect([times.ranForMs(dead), times.endedForMs(dead)]).toEqual([660_000, 40_000]);
  });

  it('takes times that lie ahead for now', () => {
    const dead = container({
      state: 'exited',
      startedAtNs: nowNs() + 10n ** 12n,
      finishedAtNs: nowNs() + 2n * 10n ** 12n,
    });
    const times = observe(dead);
    expect([times.ranForMs(dead), times.endedForMs(dead)]).toEqual([0, 0]);
    clock.stall(1_000);
    expect(observe(dead).endedForMs(dead)).toBe(1_000);
  });
});

describe('a container', () => {
  it('whose runtime reports no times is dead since it was first seen so', () => {
    const dead = container({ state: 'exited', startedAtNs: 0n });
    observe(dead);
    clock.stall(10_000);
    const times = observe(dead);
    expect([times.ranForMs(dead), times.endedForMs(dead)]).toEqual([0, 10_000]);
  });

  it('in an unknown state counts from when it was first seen so, until it is known to run', () => {
    const unknown = container({ state: 'unknown' });
    observe(unknown);
    clock.stall(4_000);
    expect(observe(unknown).endedForMs(unknown)).toBe(4_000);
    const running = { ...unknown, state: 'running' } as const;
    expect(observe(running).endedForMs(running)).toBe(0);
  });

  it('that was created has no age', () => {
    const created = container({ state: 'created', startedAtNs: 0n });
    const times = observe(created);
    clock.stall(4_000);
    expect([times.ranForMs(created), times.endedForMs(created)]).toEqual([0, 0]);
  });

  it('is forgotten with what is gone', () => {
    const dead = container({ state: 'exited', finishedAtNs: nowNs() });
    observe(dead);
    ages.forget('uid');
    clock.stall(4_000);
    clock.jumpWallClock(HOUR_MS);
    expect(observe(dead).endedForMs(dead)).toBe(HOUR_MS + 4_000);
  });
});
