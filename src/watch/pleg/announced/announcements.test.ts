import { describe, expect, it } from 'vitest';
import { aContainer, aRuntimeEvent } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type RuntimeEvent } from '../../observed/runtime.js';
import { ANNOUNCE_GRACE_MS, Announcements } from './announcements.js';
import { type ContainerChange } from '../diff.js';

const PAIRS = [
  ['ContainerStarted', 'started'],
  ['ContainerDied', 'stopped'],
  ['ContainerRemoved', 'deleted'],
] as const;

function setUp({ judging = true, credit = 0 } = {}) {
  const clock = new FakeClock();
  let missedCalls = 0;
  const announcements = new Announcements({ clock, onMissed: () => missedCalls++, credit });
  if (judging) {
    announcements.connected();
    announcements.caughtUp();
  }
  const hear = (type: RuntimeEvent['type'], containerId: string, createdAtMs = clock.now()): void =>
    announcements.hear(aRuntimeEvent({ type, containerId, createdAtNs: BigInt(createdAtMs) * 1_000_000n }));
  const see = (type: ContainerChange['type'], id: string): void =>
    announcements.see({ type, container: aContainer({ id }) });
  const counts = (): number[] => [
    announcements.announcedInARow,
    announcements.announced,
    announcements.missed,
  ];
  return { clock, announcements, hear, see, counts, missedCalls: () => missedCalls };
}

describe('a change', () => {
  it.each(PAIRS)(
    '%s is announced by %s, whether it came before or within a second after',
    async (change, type) => {
      const { clock, announcements, hear, see, counts } = setUp();
      hear(type, 'before');
      see(change, 'before');
      see(change, 'after');
      expect(announcements.awaiting).toBe(1);
      await clock.advance(ANNOUNCE_GRACE_MS - 1);
      hear(type, 'after');
      await clock.advance(10_000);
      announcements.sweep();
      expect(counts()).toEqual([2, 2, 0]);
      expect(announcements.awaiting).toBe(0);
    },
  );

  it.each(PAIRS)(
    '%s that no event announced within a second counts as missed, and resets the count',
    async (change) => {
      const { clock, announcements, hear, see, counts, missedCalls } = setUp();
      hear('started', 'a');
      see('ContainerStarted', 'a');
      see(change, 'x');
      for (const type of ['created', 'unknown'] as const) hear(type, 'x');
      hear('stopped', 'another');
      await clock.advance(ANNOUNCE_GRACE_MS - 1);
      announcements.sweep();
      expect(counts()).toEqual([1, 1, 0]);
      await clock.advance(1);
      announcements.sweep();
      expect(counts()).toEqual([0, 1, 1]);
      expect(missedCalls()).toBe(1);
    },
  );

  it('is missed when its event comes too late, even without a sweep in between', async () => {
    const { clock, hear, see, counts } = setUp();
    see('ContainerDied', 'x');
    await clock.advance(ANNOUNCE_GRACE_MS);
    hear('stopped', 'x');
    expect(counts()).toEqual([0, 0, 1]);
  });

  it('counts as the credit says from the connect on, until one is missed', async () => {
    const { clock, announcements, hear, see, counts } = setUp({ credit: 10 });
    hear('started', 'a');
    see('ContainerStarted', 'a');
    expect(counts()).toEqual([11, 1, 0]);
    see('ContainerDied', 'a');
    await clock.advance(ANNOUNCE_GRACE_MS);
    announcements.sweep();
    expect(counts()).toEqual([0, 1, 1]);
    announcements.disconnected();
    expect(counts()[0]).toBe(0);
    announcements.connected();
    expect(counts()[0]).toBe(10);
  });

  it('into an unknown state has no event and is not judged', async () => {
    const { clock, announcements, see, counts } = setUp();
    see('ContainerChanged', 'x');
    await clock.advance(10_000);
    announcements.sweep();
    expect(counts()).toEqual([0, 0, 0]);
  });

  it('is not judged before the first list after the connect, nor without a stream', async () => {
    const { clock, announcements, see, counts } = setUp({ judging: false });
    see('ContainerDied', 'x');
    announcements.caughtUp();
    see('ContainerDied', 'x');
    announcements.connected();
    see('ContainerDied', 'x');
    expect(announcements.awaiting).toBe(0);
    announcements.caughtUp();
    see('ContainerDied', 'x');
    expect(announcements.awaiting).toBe(1);
    announcements.disconnected();
    see('ContainerDied', 'y');
    await clock.advance(10_000);
    announcements.sweep();
    expect([announcements.awaiting, ...counts()]).toEqual([0, 0, 0, 0]);
  });
});

describe('an event', () => {
  it('from before the connect does not count, nor does one without a time', async () => {
    const { clock, announcements, hear, see, counts } = setUp();
    hear('stopped', 'old', clock.now() - 1);
    announcements.hear(aRuntimeEvent({ type: 'stopped', containerId: 'timeless', createdAtNs: 0n }));
    see('ContainerDied', 'old');
    see('ContainerDied', 'timeless');
    await clock.advance(ANNOUNCE_GRACE_MS);
    announcements.sweep();
    expect(counts()).toEqual([0, 0, 2]);
  });

  it('counts when the wall clock was set back since the connect, unless it has no time', async () => {
    const { clock, announcements, hear, see, counts } = setUp();
    clock.jumpWallClock(-3_600_000);
    announcements.hear(aRuntimeEvent({ type: 'stopped', containerId: 'timeless', createdAtNs: 0n }));
    see('ContainerDied', 'timeless');
    await clock.advance(ANNOUNCE_GRACE_MS);
    hear('started', 'a');
    see('ContainerStarted', 'a');
    see('ContainerDied', 'a');
    hear('stopped', 'a');
    expect(counts()).toEqual([2, 2, 1]);
  });

  it('that was unreliable resets the count, and changes nothing else', () => {
    const { announcements, hear, see, counts, missedCalls } = setUp();
    hear('started', 'a');
    see('ContainerStarted', 'a');
    announcements.distrust();
    expect([counts(), missedCalls()]).toEqual([[0, 1, 0], 0]);
    hear('stopped', 'a');
    see('ContainerDied', 'a');
    expect(counts()).toEqual([1, 2, 0]);
  });

  it('announces one change, not two', async () => {
    const { clock, announcements, hear, see, counts } = setUp();
    hear('started', 'x');
    see('ContainerStarted', 'x');
    see('ContainerStarted', 'x');
    await clock.advance(ANNOUNCE_GRACE_MS);
    announcements.sweep();
    expect(counts()).toEqual([0, 1, 1]);
  });

  it('is remembered for at least a minute, and not for ever', async () => {
    const { clock, announcements, hear, see, counts } = setUp();
    hear('stopped', 'x');
    hear('stopped', 'y');
    await clock.advance(60_000);
    hear('stopped', 'z');
    see('ContainerDied', 'x');
    expect(counts()).toEqual([1, 1, 0]);
    await clock.advance(60_000);
    hear('stopped', 'z');
    see('ContainerDied', 'y');
    expect(announcements.awaiting).toBe(1);
  });

  it('received over the last connection is forgotten with it, and the count is reset', () => {
    const { announcements, hear, see, counts } = setUp();
    hear('started', 'a');
    see('ContainerStarted', 'a');
    hear('stopped', 'a');
    announcements.disconnected();
    announcements.connected();
    announcements.caughtUp();
    see('ContainerDied', 'a');
    expect([announcements.awaiting, ...counts()]).toEqual([1, 0, 1, 0]);
  });
});

it('remembers a bounded number of events and of changes', async () => {
  const { clock, announcements, hear, see, counts } = setUp();
  for (let i = 0; i < 20_000; i++) hear('stopped', `e${i}`);
  see('ContainerDied', 'e0');
  expect(announcements.awaiting).toBe(1);
  see('ContainerDied', 'e19999');
  expect(counts()).toEqual([1, 1, 0]);
  for (let i = 0; i < 20_000; i++) see('ContainerStarted', `c${i}`);
  expect(announcements.awaiting).toBeLessThanOrEqual(8_192);
  await clock.advance(ANNOUNCE_GRACE_MS);
  announcements.sweep();
  // Every change is counted once, remembered or not.
  expect(counts()).toEqual([0, 1, 20_001]);
});
