import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ProbeSlots } from './probe-slots.js';

/** Slots, and work that ends when the test says so. */
function lab(limits: { limit: number; slowLimit?: number }) {
  const clock = new FakeClock();
  const slots = new ProbeSlots({ clock, ...limits });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const stop = new AbortController();
  const start = (podUid: string, name: string, signal = stop.signal): Promise<void> => {
    const work = async (): Promise<void> => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    };
    return slots.run(podUid, work, signal);
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await clock.settle();
  };
  return { clock, slots, begun, start, end };
}

describe('places for probes', () => {
  it('are never more than the limit, and none is lost', async () => {
    const { clock, slots, begun, start, end } = lab({ limit: 2 });
    const all = ['a', 'b', 'c', 'd'].map((name) => start('pod', name));
    await clock.settle();
    expect([begun.join(''), slots.inFlight, slots.waiting]).toEqual(['ab', 2, 2]);
    await end('b');
    expect([begun.join(''), slots.inFlight, slots.waiting]).toEqual(['abc', 2, 1]);
    for (const name of ['a', 'c', 'd']) await end(name);
    await Promise.all(all);
    expect([begun.join(''), slots.inFlight, slots.waiting]).toEqual(['abcd', 0, 0]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('go to pods in turn, whatever the number of their probes', async () => {
    const { clock, begun, start, end } = lab({ limit: 1 });
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => start(name[0]!, name));
    await clock.settle();
    for (let index = 0; index < all.length; index++) await end(begun[index]!);
    await Promise.all(all);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('are left by slow probes, up to a bound', async () => {
    const { clock, slots, begun, start, end } = lab({ limit: 1, slowLimit: 1 });
    const all = ['a', 'b', 'c'].map((name) => start(name, name));
    await clock.advance(999);
    expect(begun.join('')).toBe('a');
    await clock.advance(1);
    expect([begun.join(''), slots.inFlight]).toEqual(['ab', 2]);
    await clock.advance(5_000);
    expect([begun.join(''), slots.inFlight]).toEqual(['ab', 2]);
    await end('a');
    // There is room outside again, and b takes it.
    await clock.advance(1_000);
    expect([begun.join(''), slots.inFlight]).toEqual(['abc', 2]);
    await end('b');
    await end('c');
    await Promise.all(all);
    expect(slots.inFlight).toBe(0);
  });

  it('are as many as before once slow probes have ended outside', async () => {
    const { clock, slots, begun, start, end } = lab({ limit: 1 });
    const slow = start('a', 'a');
    await clock.advance(1_000);
    await end('a');
    await slow;
    const others = ['b', 'c'].map((name) => start(name, name));
    await clock.settle();
    expect([begun.join(''), slots.waiting]).toEqual(['ab', 1]);
    await end('b');
    await end('c');
    await Promise.all(others);
  });

  it('are free again when the only one who waited gave up', async () => {
    const { clock, slots, begun, start, end } = lab({ limit: 1 });
    const stop = new AbortController();
    const first = start('a', 'a');
    const second = start('b', 'b', stop.signal);
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    await end('a');
    await first;
    const third = start('c', 'c');
    await clock.settle();
    expect([begun.join(''), slots.inFlight]).toEqual(['ac', 1]);
    await end('c');
    await third;
  });

  it('are not taken by who gave up waiting', async () => {
    const { clock, slots, begun, start, end } = lab({ limit: 1 });
    const stop = new AbortController();
    const first = start('a', 'a');
    const second = start('b', 'b', stop.signal);
    const third = start('b', 'c');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    expect(slots.waiting).toBe(1);
    await end('a');
    await end('c');
    await Promise.all([first, third]);
    await clock.settle();
    expect([begun.join(''), slots.inFlight]).toEqual(['ac', 0]);
    await expect(start('d', 'd', stop.signal)).rejects.toThrow('enough');
  });

  it('are given back by work that fails', async () => {
    const { slots } = lab({ limit: 1 });
    const failing = slots.run('a', () => Promise.reject(new Error('no')), new AbortController().signal);
    await expect(failing).rejects.toThrow('no');
    expect(slots.inFlight).toBe(0);
  });
});
