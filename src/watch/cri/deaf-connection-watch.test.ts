import { describe, expect, it } from 'vitest';

import { FakeClock } from '#testing/fake-clock.js';

import { type DeafConnection, DeafConnectionWatch } from './deaf-connection-watch.js';

/**
 * A connection whose traffic and answers the test controls; `asked` has the time of each check in seconds.
 */
function setUp() {
  const clock = new FakeClock();
  const connection = {};
  const line = { read: 0, written: 0, sends: false, answersElsewhere: true, callsWait: true };
  const asked: number[] = [];
  const found: DeafConnection[] = [];
  const startedMs = clock.monotonicMs();
  const watch = new DeafConnectionWatch({
    clock,
    movedBytes: () => ({ connection, read: line.read, written: line.written }),
    callsWait: () => line.callsWait,
    knock: () => {
      asked.push((clock.monotonicMs() - startedMs) / 1_000);
      if (line.sends) line.written++;
      return () => undefined;
    },
    knockElsewhere: () => Promise.resolve(line.answersElsewhere),
    onDeaf: (deaf) => found.push(deaf),
  });
  return { clock, line, asked, found, watch };
}

describe('a watch for deaf connections', () => {
  it('checks after half a second of silence, then less and less often, and finds no fault while nobody is answered', async () => {
    const { clock, line, asked, found, watch } = setUp();
    line.answersElsewhere = false;
    watch.noteCall();
    await clock.advance(8_000);
    expect(asked).toEqual([0.5, 1.75, 4]);
    expect(found).toEqual([]);
    watch.close();
  });

  it('reports a connection that stays silent although the second one is answered', async () => {
    const { clock, found, watch } = setUp();
    watch.noteCall();
    await clock.advance(1_000);
    expect(found).toMatchObject([{ written: 0, mute: true }]);
    watch.close();
  });

  it('waits longer for a connection that still sends, as its server may be starved of CPU', async () => {
    const { clock, line, found, watch } = setUp();
    line.sends = true;
    watch.noteCall();
    await clock.advance(14_000);
    expect(found).toEqual([]);
    line.read++;
    await clock.advance(30_000);
    expect(found).toMatchObject([{ written: 1, mute: false }]);
    watch.close();
  });

  it('goes back to quick checks for a call that comes during a check', async () => {
    const { clock, line, asked, watch } = setUp();
    line.answersElsewhere = false;
    watch.noteCall();
    await clock.advance(4_100);
    expect(asked).toEqual([0.5, 1.75, 4]);
    watch.noteCall();
    await clock.advance(700);
    expect(asked).toEqual([0.5, 1.75, 4, 4.75]);
    watch.close();
  });

  it('has no timer once no call waits, nor after it was closed', async () => {
    const { clock, line, asked, watch } = setUp();
    watch.noteCall();
    line.callsWait = false;
    await clock.advance(500);
    expect([asked, clock.pendingTimers]).toEqual([[], 0]);
    watch.noteCall();
    watch.close();
    expect(clock.pendingTimers).toBe(0);
    watch.noteCall();
    expect(clock.pendingTimers).toBe(0);
  });
});
