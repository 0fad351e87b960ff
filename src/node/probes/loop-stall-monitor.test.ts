import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LoopStallMonitor } from './loop-stall-monitor.js';

describe('a monitor of the event loop', () => {
  it('sees nothing while timers fire in time', async () => {
    const clock = new FakeClock();
    const watch = new LoopStallMonitor({ clock }).watch();
    await clock.advance(10_000);
    expect(watch.stalled()).toEqual({ totalMs: 0, longestMs: 0 });
    watch.stop();
  });

  it('sees a stall before its own timer had a turn', async () => {
    const clock = new FakeClock();
    const watch = new LoopStallMonitor({ clock }).watch();
    await clock.advance(100);
    clock.stall(3_000);
    expect(watch.stalled()).toEqual({ totalMs: 2_980, longestMs: 2_980 });
    await clock.advance(1_000);
    expect(watch.stalled()).toEqual({ totalMs: 2_980, longestMs: 2_980 });
    watch.stop();
  });

  it('adds stalls up and keeps the longest', async () => {
    const clock = new FakeClock();
    const watch = new LoopStallMonitor({ clock }).watch();
    for (const ms of [500, 1_000, 200]) {
      clock.stall(ms);
      await clock.advance(100);
    }
    expect(watch.stalled()).toEqual({ totalMs: 480 + 980 + 180, longestMs: 980 });
    watch.stop();
  });

  it('leaves a stall to those who watched before it ended', async () => {
    const clock = new FakeClock();
    const monitor = new LoopStallMonitor({ clock });
    const early = monitor.watch();
    clock.stall(1_000);
    const late = monitor.watch();
    await clock.advance(100);
    expect(early.stalled().totalMs).toBe(980);
    expect(late.stalled().totalMs).toBe(0);
    early.stop();
    late.stop();
  });

  it('ticks only while somebody watches, and forgets the time in between', async () => {
    const clock = new FakeClock();
    const monitor = new LoopStallMonitor({ clock });
    expect(clock.pendingTimers).toBe(0);
    const first = monitor.watch();
    expect(clock.pendingTimers).toBe(1);
    first.stop();
    first.stop();
    expect([clock.pendingTimers, monitor.watching]).toEqual([0, 0]);
    await clock.advance(60_000);
    const second = monitor.watch();
    expect(second.stalled().totalMs).toBe(0);
    second.stop();
  });

  it('does not take slices of work for a stall', async () => {
    const clock = new FakeClock();
    const watch = new LoopStallMonitor({ clock }).watch();
    for (let slice = 0; slice < 20; slice++) {
      clock.stall(30);
      await clock.advance(1);
    }
    expect(watch.stalled().totalMs).toBe(0);
    watch.stop();
  });
});
