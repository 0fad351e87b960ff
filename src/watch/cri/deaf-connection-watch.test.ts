import { describe, expect, it } from 'vitest';

import { FakeClock } from '#testing/fake-clock.js';

import { type DeafConnection, DeafConnectionWatch } from './deaf-connection-watch.js';

/** A connection of which the test says what it moves and who is answered; `asked` has a second for each question. */
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
  it('asks after half a second of silence, then less and less often, and finds no fault while nobody is answered', async () => {
    const { clock, line, asked, found, watch } = setUp();
    line.answersElsewhere = false;
    watch.noteCall();
    await clock.advance(8_000);
    expect(asked).toEqual([0.5, 1.75, 4]);
    expect(found).toEqual([]);
    watch.close();
  });

  it('tells of a connection that stays silent although the second one is answered', async () => {
    const { clock, found, watch } = setUp();
    watch.noteCall();
    await clock.advance(1_000);
    expect(found).toMatchObject([{ written: 0, mute: true }]);
    watch.close();
  });

  it('gives a connection that still sends the time that a starved server may need', async () => {
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

  it('is soon attentive again for a call that comes while it asks', async () => {
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
