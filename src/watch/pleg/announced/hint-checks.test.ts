import { describe, expect, it } from 'vitest';
import { aContainer, aPod, aRuntimeEvent, aSandbox } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type ObservedPod, type ObservedState, type RuntimeEvent } from '../../observed/runtime.js';
import { HintChecks } from './hint-checks.js';

function setUp() {
  const clock = new FakeClock();
  const startMs = clock.monotonicMs();
  let shown: ObservedPod | undefined = podWith('running');
  const looks: number[] = [];
  const doubtsAtMs: number[] = [];
  const checks = new HintChecks({
    clock,
    lookAgain: (uid) => {
      looks.push(clock.monotonicMs() - startMs);
      checks.compare(uid, shown);
    },
    onDoubt: () => doubtsAtMs.push(clock.monotonicMs() - startMs),
  });
  const expectOf = (type: RuntimeEvent['type'], containerId = 'c'): void =>
    checks.expect('uid-web', aRuntimeEvent({ type, containerId }));
  return {
    clock,
    checks,
    looks,
    doubtsAtMs,
    expectOf,
    show: (pod: ObservedPod | undefined) => (shown = pod),
  };
}

function podWith(state: ObservedState | undefined): ObservedPod {
  return aPod({ sandboxes: [], containers: state === undefined ? [] : [aContainer({ id: 'c', state })] });
}

describe('an event that the list does not show yet', () => {
  it('triggers another list soon, then later ones, and is then left to the period and counted', async () => {
    const { clock, checks, looks, doubtsAtMs, expectOf } = setUp();
    expectOf('stopped');
    expect([checks.has('uid-web'), checks.has('other'), checks.size]).toEqual([true, false, 1]);
    checks.compare('uid-web', podWith('running'));
    await clock.advance(60_000);
    expect(looks).toEqual([20, 70, 170, 420, 920, 1_920]);
    expect([checks.contradicted, checks.size, checks.has('uid-web')]).toEqual([1, 0, false]);
    expect(doubtsAtMs).toEqual([1_920]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('triggers no more lists once a list shows it', async () => {
    const { clock, checks, looks, doubtsAtMs, expectOf, show } = setUp();
    expectOf('stopped');
    checks.compare('uid-web', podWith('running'));
    await clock.advance(100);
    show(podWith('exited'));
    await clock.advance(60_000);
    expect(looks).toEqual([20, 70, 170]);
    expect([checks.contradicted, checks.size, clock.pendingTimers]).toEqual([0, 0, 0]);
    expect(doubtsAtMs).toEqual([]);
  });

  it('does not lose its attempts to lists that others requested, and sets one timer at a time', async () => {
    const { clock, checks, looks, expectOf, show } = setUp();
    expectOf('stopped');
    for (let i = 0; i < 50; i++) checks.compare('uid-web', podWith('running'));
    expect([checks.size, clock.pendingTimers]).toEqual([1, 1]);
    await clock.advance(500);
    show(podWith('exited'));
    await clock.advance(5_000);
    expect(looks).toEqual([20, 70, 170, 420, 920]);
    expect(checks.contradicted).toBe(0);
  });

  it('is replaced by a later event of the same container', async () => {
    const { clock, checks, expectOf } = setUp();
    expectOf('stopped');
    expectOf('deleted');
    expect(checks.size).toBe(1);
    checks.compare('uid-web', podWith('exited'));
    expect(checks.size).toBe(1);
    checks.compare('uid-web', podWith(undefined));
    await clock.advance(5_000);
    expect([checks.size, checks.contradicted]).toEqual([0, 0]);
  });
});

describe('an event of a pod that no list shows', () => {
  it('is no longer checked once a relist that began after it has ended', async () => {
    const { clock, checks, looks, expectOf } = setUp();
    expectOf('started');
    checks.compare('uid-web', podWith('created'));
    const stamp = clock.stamp();
    expectOf('deleted', 'later');
    checks.compareAbsent(stamp, () => false);
    expect([checks.size, clock.pendingTimers]).toEqual([2, 1]);
    checks.compareAbsent(clock.stamp(), (uid) => uid === 'uid-web');
    expect([checks.size, clock.pendingTimers]).toEqual([2, 1]);
    checks.compareAbsent(clock.stamp(), () => false);
    expect([checks.size, clock.pendingTimers, checks.has('uid-web')]).toEqual([0, 0, false]);
    await clock.advance(5_000);
    expect([looks, checks.contradicted]).toEqual([[], 0]);
  });
});

describe('what shows an event', () => {
  const shows = (type: RuntimeEvent['type'], pod: ObservedPod | undefined): boolean => {
    const { checks, expectOf } = setUp();
    expectOf(type);
    checks.compare('uid-web', pod);
    const shown = checks.size === 0;
    checks.clear();
    return shown;
  };

  it.each([
    ['started', 'created', false],
    ['started', 'running', true],
    ['started', 'exited', true],
    ['started', undefined, true],
    ['stopped', 'running', false],
    ['stopped', 'exited', true],
    ['stopped', 'unknown', true],
    ['stopped', undefined, true],
    ['deleted', 'exited', false],
    ['deleted', undefined, true],
    ['created', 'running', true],
    ['unknown', 'running', true],
  ] as const)('%s with the container %s: %s', (type, state, expected) => {
    expect(shows(type, podWith(state))).toBe(expected);
  });

  it('is any event of a pod that is gone, and a sandbox as well as a container', () => {
    for (const type of ['started', 'stopped', 'deleted'] as const) expect(shows(type, undefined)).toBe(true);
    const withSandbox = (state: ObservedState): ObservedPod =>
      aPod({ containers: [], sandboxes: [aSandbox({ id: 'c', state })] });
    expect([shows('stopped', withSandbox('running')), shows('stopped', withSandbox('exited'))]).toEqual([
      false,
      true,
    ]);
  });
});

it('stores a bounded number, of one pod or of many', () => {
  const { checks, doubtsAtMs } = setUp();
  for (let i = 0; i < 10_000; i++) {
    checks.expect(i % 2 === 0 ? 'one' : `pod-${i}`, aRuntimeEvent({ type: 'stopped', containerId: `c${i}` }));
  }
  expect(checks.size).toBe(4_096);
  expect(doubtsAtMs).toHaveLength(10_000 - 4_096);
});

it('leaves no timer behind when the stream is gone', async () => {
  const { clock, checks, looks, expectOf } = setUp();
  expectOf('stopped');
  checks.compare('uid-web', podWith('running'));
  checks.clear();
  await clock.advance(10_000);
  expect([looks, checks.size, clock.pendingTimers]).toEqual([[], 0, 0]);
});
