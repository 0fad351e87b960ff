import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { AwaitedThings } from './awaited-things.js';

let clock: FakeClock;
let told: string[];
let things: AwaitedThings;
let abort: AbortController;
let running: Promise<void>;
beforeEach(() => {
  clock = new FakeClock();
  told = [];
  things = new AwaitedThings({ clock, onThere: (uid) => told.push(uid) });
  abort = new AbortController();
  running = things.run(abort.signal);
});
afterEach(async () => {
  abort.abort();
  await running;
  expect(clock.pendingTimers).toBe(0);
});

/** Is not there until it is put there; counts looks. */
function thing() {
  const state = { isThere: false, looks: 0 };
  const look = async (): Promise<boolean> => {
    state.looks++;
    return Promise.resolve(state.isThere);
  };
  return { state, look };
}

describe('what pods wait for', () => {
  it('is looked for every few seconds, and told of once, soon after it is there', async () => {
    const { state, look } = thing();
    things.expect('u1', 'claim', look);
    things.expect('u1', 'claim', look);
    await clock.advance(60_000);
    expect(state.looks).toBeGreaterThan(8);
    expect(state.looks).toBeLessThan(20);
    state.isThere = true;
    await clock.advance(6_000);
    expect(told).toEqual(['u1']);
    expect(things.size).toBe(0);
  });

  it('is looked for one after the other, four times a second at most', async () => {
    const all = Array.from({ length: 64 }, thing);
    for (const [index, { look }] of all.entries()) things.expect(`u${index}`, 'claim', look);
    await clock.advance(10_000);
    const looks = all.reduce((sum, { state }) => sum + state.looks, 0);
    expect(looks).toBeGreaterThan(20);
    expect(looks).toBeLessThanOrEqual(40);
  });

  it('is bounded, and what is too much is counted', async () => {
    for (let index = 0; index < 70; index++) things.expect(`u${index}`, 'claim', thing().look);
    expect([things.size, things.refused]).toEqual([64, 6]);
    await clock.settle();
  });

  it('is not looked for any more once it was had otherwise, or its pod is gone', async () => {
    const [one, other] = [thing(), thing()];
    things.expect('u1', 'claim', one.look);
    things.expect('u2', 'claim', other.look);
    things.found('u1', 'claim');
    expect(things.podUids()).toEqual(['u2']);
    things.forget('u2');
    await clock.advance(60_000);
    expect([one.state.looks, other.state.looks, told.length]).toEqual([0, 0, 0]);
  });
});
