import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { ChosenLine, FairLine, RankLine, type SlotLine } from './slot-line.js';
import { Slots } from './slots.js';

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Slots by name, and work that ends when the test says so. */
function lab<Key>(options: {
  readonly limit: number | (() => number);
  readonly line?: SlotLine<Key>;
  readonly maxOutside?: number;
}) {
  const clock = new FakeClock();
  const { maxOutside } = options;
  const leave = maxOutside === undefined ? undefined : { clock, afterMs: 1_000, maxOutside };
  const slots = new Slots<Key>({ ...options, leave });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (key: Key, name: string, signal?: AbortSignal): Promise<string> => {
    const work = async (): Promise<string> => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    };
    return slots.run(key, work, signal);
  };
  const end = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) {
      ends.get(name)!();
      await clock.settle();
    }
  };
  return { clock, slots, begun, start, end };
}

describe('slots', () => {
  it('are never more than the limit, first come, first served, and none is lost', async () => {
    const { clock, slots, begun, start, end } = lab<undefined>({ limit: 2, maxOutside: 9 });
    const all = ['a', 'b', 'c', 'd'].map((name) => start(undefined, name));
    await clock.settle();
    expect([begun.join(''), slots.facts]).toEqual(['ab', { limit: 2, waiting: 2, inside: 2, outside: 0 }]);
    await end('b');
    expect([begun.join(''), slots.facts]).toMatchObject(['abc', { inside: 2, waiting: 1 }]);
    await end('a', 'c', 'd');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
    expect(begun.join('')).toBe('abcd');
    expect(slots.facts).toEqual({ limit: 2, waiting: 0, inside: 0, outside: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('follow a limit that grows', async () => {
    let limit = 1;
    const { begun, start, end } = lab<undefined>({ limit: () => limit });
    const all = ['a', 'b', 'c'].map((name) => start(undefined, name));
    limit = 3;
    await turn();
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('b', 'c');
    await Promise.all(all);
  });

  it('are given back by work that fails', async () => {
    const { slots } = lab<undefined>({ limit: 1 });
    const failing = slots.run(undefined, () => Promise.reject(new Error('no')));
    const next = slots.run(undefined, () => Promise.resolve('fine'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('fine');
    expect(slots.facts.inside).toBe(0);
  });

  it('go to nobody when one is released twice', async () => {
    const slots = new Slots({ limit: 1 });
    const release = await slots.take(undefined);
    let holders = 0;
    for (let i = 0; i < 2; i++) void slots.take(undefined).then(() => holders++);
    release();
    release();
    await turn();
    expect([holders, slots.facts.waiting]).toEqual([1, 1]);
  });
});

describe('one that stops waiting for a slot', () => {
  it('leaves the line at once, and never begins', async () => {
    const { clock, slots, begun, start, end } = lab<string>({ limit: 1, line: new FairLine() });
    const stop = new AbortController();
    const reason = new Error('enough');
    const first = start('a', 'a');
    const second = start('b', 'b', stop.signal);
    const third = start('b', 'c');
    stop.abort(reason);
    await expect(second).rejects.toBe(reason);
    expect(slots.facts.waiting).toBe(1);
    await end('a', 'c');
    await Promise.all([first, third]);
    await clock.settle();
    expect([begun.join(''), slots.facts.inside]).toEqual(['ac', 0]);
    await expect(start('d', 'd', stop.signal)).rejects.toBe(reason);
    (await slots.take('a'))();
  });

  it('leaves the slot free that only it waited for', async () => {
    const { clock, slots, begun, start, end } = lab<undefined>({ limit: 1 });
    const stop = new AbortController();
    const first = start(undefined, 'a');
    const second = start(undefined, 'b', stop.signal);
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    await end('a');
    await first;
    const third = start(undefined, 'c');
    await clock.settle();
    expect([begun.join(''), slots.facts.inside]).toEqual(['ac', 1]);
    await end('c');
    await third;
  });

  it('lets those behind it begin that waited for it alone', async () => {
    const choose = ([first]: Iterable<string>, inside: Iterable<string>) =>
      first === undefined || [...inside].includes(first) ? undefined : 0;
    const { clock, begun, start, end } = lab<string>({ limit: 2, line: new ChosenLine(choose) });
    const stop = new AbortController();
    const all = [start('x', 'a'), start('x', 'b', stop.signal), start('y', 'c')];
    await clock.settle();
    expect(begun).toEqual(['a']);
    stop.abort(new Error('enough'));
    await expect(all[1]).rejects.toThrow('enough');
    expect(begun).toEqual(['a', 'c']);
    await end('a', 'c');
  });

  it('ends only the wait: work that has begun goes on', async () => {
    const { clock, slots, start, end } = lab<undefined>({ limit: 2 });
    const stop = new AbortController();
    const [first, second, third] = ['a', 'b', 'c'].map((name) => start(undefined, name, stop.signal));
    await clock.settle();
    stop.abort(new Error('killed'));
    await expect(third).rejects.toThrow('killed');
    await end('a', 'b');
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
    expect(slots.facts.inside).toBe(0);
  });
});

describe('work that takes long', () => {
  it('goes on outside, and the next one begins, up to a bound', async () => {
    const { clock, slots, begun, start, end } = lab<undefined>({ limit: 2, maxOutside: 1 });
    const all = ['a', 'b', 'c', 'd'].map((name) => start(undefined, name));
    await clock.advance(999);
    expect(begun.join('')).toBe('ab');
    await clock.advance(1);
    expect(slots.facts).toEqual({ limit: 2, waiting: 1, inside: 2, outside: 1 });
    expect(begun.join('')).toBe('abc');
    await clock.advance(5_000);
    expect([begun.join(''), slots.facts.outside]).toEqual(['abc', 1]);
    await end('a');
    // There is room outside again, and b takes it.
    await clock.advance(1_000);
    expect([begun.join(''), slots.facts]).toMatchObject(['abcd', { inside: 2, outside: 1 }]);
    await end('b', 'c', 'd');
    await Promise.all(all);
    expect(slots.facts).toMatchObject({ inside: 0, outside: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves as many slots as before when it has ended outside', async () => {
    const { clock, slots, begun, start, end } = lab<undefined>({ limit: 1, maxOutside: 9 });
    const slow = start(undefined, 'a');
    await clock.advance(1_000);
    await end('a');
    await slow;
    const others = ['b', 'c'].map((name) => start(undefined, name));
    await clock.settle();
    expect([begun.join(''), slots.facts.waiting]).toEqual(['ab', 1]);
    await end('b', 'c');
    await Promise.all(others);
  });
});

describe('the order of those that wait', () => {
  let begun: string[];
  beforeEach(() => (begun = []));
  const order = async <Key>(
    line: SlotLine<Key>,
    first: Key,
    waiting: readonly (readonly [string, Key])[],
  ) => {
    const slots = new Slots<Key>({ limit: 1, line });
    const release = await slots.take(first);
    const all = waiting.map(([name, key]) =>
      slots.run(key, async () => {
        begun.push(name);
        await turn();
      }),
    );
    await turn();
    expect([begun, slots.facts.waiting]).toEqual([[], waiting.length]);
    release();
    await Promise.all(all);
    expect(slots.facts.waiting).toBe(0);
    return begun;
  };

  it('is the lowest rank, then that of arrival', async () => {
    const waiting = [
      ['b', 2],
      ['a', 1],
      ['c', 2],
      ['d', 0],
      ['e', 1],
    ] as const;
    expect(await order(new RankLine<number>((rank) => rank), 5, waiting)).toEqual(['d', 'a', 'e', 'b', 'c']);
  });

  it('is each key in turn, however many wait with it', async () => {
    const waiting = ['a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => [name, name[0]!] as const);
    expect(await order(new FairLine<string>(), 'a', waiting)).toEqual(['a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('is what somebody chooses, who may let all of them wait', async () => {
    const last = (waiting: Iterable<string>, inside: Iterable<string>) =>
      [...inside].length > 0 ? undefined : [...waiting].length - 1;
    const slots = new Slots<string>({ limit: 9, line: new ChosenLine(last) });
    const release = await slots.take('x');
    const all = ['a', 'b', 'c'].map((name) => slots.run(name, async () => void begun.push(name)));
    await turn();
    expect([begun, slots.insideKeys]).toEqual([[], ['x']]);
    release();
    await Promise.all(all);
    expect(begun).toEqual(['c', 'b', 'a']);
  });
});

const LINES: readonly (readonly [string, () => SlotLine<number>])[] = [
  ['ranks', () => new RankLine<number>((rank) => rank)],
  ['turns of keys', () => new FairLine<number>()],
  ['a choice', () => new ChosenLine<number>((waiting) => ([...waiting].length > 0 ? 0 : undefined))],
];

it.each(LINES)('whatever happens, nothing is lost or begins twice in a line by %s', async (_, makeLine) => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('start' as const), at: fc.nat(3) }),
    fc.record({ kind: fc.constantFrom('stop' as const, 'end' as const), at: fc.nat(20) }),
    fc.record({ kind: fc.constant('wait' as const), at: fc.constantFrom(500, 1_000) }),
  );
  const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const { clock, slots, begun, start, end } = lab<number>({ limit: 2, line: makeLine(), maxOutside: 2 });
    const stops: AbortController[] = [];
    const outcomes: Promise<string>[] = [];
    const ended = new Set<string>();
    const endOne = async (at: number): Promise<void> => {
      const running = begun.filter((name) => !ended.has(name));
      const name = running[at % running.length];
      if (name === undefined) return;
      ended.add(name);
      await end(name);
    };
    for (const { kind, at } of steps) {
      if (kind === 'start') {
        const stop = new AbortController();
        outcomes.push(start(at, String(stops.length), stop.signal).catch(() => 'stopped'));
        stops.push(stop);
      } else if (kind === 'stop') stops[at]?.abort(new Error('enough'));
      else if (kind === 'end') await endOne(at);
      else await clock.advance(at);
      await clock.settle();
      const { inside, outside, waiting } = slots.facts;
      expect(inside + outside).toBe(begun.length - ended.size);
      expect([inside <= 2, outside <= 2, waiting === 0 || inside === 2]).toEqual([true, true, true]);
    }
    while (begun.length > ended.size) await endOne(0);
    const known = await Promise.all(outcomes);
    expect(known.filter((outcome) => outcome !== 'stopped').sort()).toEqual([...begun].sort());
    expect(new Set(begun).size).toBe(begun.length);
    expect([slots.facts.inside, slots.facts.outside, clock.pendingTimers]).toEqual([0, 0, 0]);
  });
  await fc.assert(property, { numRuns: 50 });
});
