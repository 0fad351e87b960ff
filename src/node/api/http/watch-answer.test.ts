import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { WatchPlaces } from './watch-answer.js';

describe('places', () => {
  it('are as many as there may be, of what they are for', () => {
    const logs = new WatchPlaces({ clock: new FakeClock(), limit: 1, what: 'followed logs' });
    const leave = logs.take();
    expect(() => logs.take()).toThrow('there are 1 followed logs already');
    leave();
    leave();
    expect(logs.taken).toBe(0);
    logs.take();
    expect(logs.taken).toBe(1);
  });
});
