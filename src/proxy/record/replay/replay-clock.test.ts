import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ReplayClock, type ReplayClockOptions } from './replay-clock.js';

/** One that has been started. */
function start(options: Partial<ReplayClockOptions>): { clock: FakeClock; replay: ReplayClock } {
  const clock = new FakeClock();
  const replay = new ReplayClock({ clock, speed: 1, from: 0, end: 10e6, atEnd: 'pause', ...options });
  replay.start();
  return { clock, replay };
}

describe('the clock of a replay', () => {
  it('stays at the end, or begins anew', async () => {
    const paused = start({});
    await paused.clock.advance(12_000);
    expect(paused.replay.now()).toEqual({ at: 10e6, lap: 0 });
    const looped = start({ atEnd: 'loop', from: 4e6, speed: 2 });
    await looped.clock.advance(4_000);
    expect(looped.replay.now()).toEqual({ at: 6e6, lap: 1 });
  });

  it.each([
    ['from its end', { from: 10e6 }],
    ['from shortly before its end, fast', { from: 10e6 - 1, speed: 1_000 }],
  ])('begins anew once a second at most, %s', async (_where, options) => {
    const { clock, replay } = start({ atEnd: 'loop', ...options });
    let laps = 0;
    const arm = (): void => void replay.setTimer(10e6, ++laps, arm);
    arm();
    await clock.advance(5_500);
    expect(laps).toBe(6);
    expect(replay.now()).toEqual({ at: 10e6, lap: 5 });
  });
});
