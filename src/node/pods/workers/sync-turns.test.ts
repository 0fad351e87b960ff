import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SyncTurns } from './sync-turns.js';

/** Takes turns for `names`; `begun` has those that it was the turn of, with how to end them. */
function setUp() {
  const clock = new FakeClock();
  const turns = new SyncTurns({ clock, perTurn: 100 });
  const begun = new Map<string, () => void>();
  const ask = (name: string, isEnding = false): void =>
    void turns.take(isEnding).then((leave) => begun.set(name, leave));
  const askMany = (count: number): void => {
    for (let at = 0; at < count; at++) ask(String(at));
  };
  return { clock, turns, begun, ask, askMany };
}

describe('turns of syncs', () => {
  it('are given to so many at once, in the order in which they were asked for', async () => {
    const { clock, turns, begun, askMany } = setUp();
    askMany(20);
    await clock.settle();
    expect([...begun.keys()]).toEqual(Array.from({ length: 16 }, (_, at) => String(at)));
    expect(turns.waiting).toBe(4);
    const leave = begun.get('5')!;
    leave();
    leave();
    await clock.settle();
    expect([...begun.keys()].slice(16)).toEqual(['16']);
  });

  it('come free when a sync takes long', async () => {
    const { clock, begun, askMany } = setUp();
    askMany(40);
    await clock.advance(200);
    expect(begun.size).toBe(32);
    // It has left already.
    begun.get('0')!();
    await clock.settle();
    expect(begun.size).toBe(32);
    await clock.advance(200);
    expect(begun.size).toBe(40);
  });

  it('of pods that are to end come first, and need no place', async () => {
    const { clock, begun, ask, askMany } = setUp();
    askMany(20);
    for (let at = 0; at < 20; at++) ask(`end ${at}`, true);
    await clock.settle();
    const names = [...begun.keys()];
    expect(names).toHaveLength(36);
    expect(names.slice(0, 20).every((name) => name.startsWith('end'))).toBe(true);
    for (const leave of begun.values()) leave();
    await clock.settle();
    expect(begun.size).toBe(40);
  });
});
