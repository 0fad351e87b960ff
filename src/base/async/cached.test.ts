import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { Cached, type CachedOptions } from './cached.js';

function setUp(options: Partial<CachedOptions<string>> = {}) {
  const clock = new FakeClock();
  const looks: { readonly signal: AbortSignal; end(value: string): void; fail(error: Error): void }[] = [];
  const shared = new Cached<string>({
    ...{ clock, deadlineMs: 1_000, late: () => new Error('too late') },
    read: async (signal) =>
      new Promise((resolve, reject) => looks.push({ signal, end: resolve, fail: reject })),
    ...options,
  });
  const never = new AbortController().signal;
  return { clock, looks, shared, never };
}

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a shared read', () => {
  it('is one for all callers while it runs, and a new one afterwards', async () => {
    const { looks, shared, never } = setUp();
    const askers = Array.from({ length: 100 }, async () => shared.get(new AbortController().signal));
    await turn();
    expect(looks).toHaveLength(1);
    looks[0]!.end('seen');
    expect(new Set(await Promise.all(askers))).toEqual(new Set(['seen']));
    const next = shared.get(never);
    await turn();
    looks[1]!.end('seen later');
    expect(await next).toBe('seen later');
  });

  it('continues for the next caller when the one that started it has left', async () => {
    const { looks, shared, never } = setUp();
    const leaving = new AbortController();
    const first = shared.get(leaving.signal);
    await turn();
    leaving.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    const second = shared.get(never);
    await turn();
    expect(looks).toHaveLength(1);
    expect(looks[0]!.signal.aborted).toBe(false);
    looks[0]!.end('seen');
    expect(await second).toBe('seen');
  });

  it('that fails fails for all, but not for later callers', async () => {
    const { looks, shared, never } = setUp();
    const askers = [shared.get(never), shared.get(never)];
    await turn();
    looks[0]!.fail(new Error('no sight'));
    for (const asker of askers) await expect(asker).rejects.toThrow('no sight');
    const next = shared.get(never);
    await turn();
    looks[1]!.end('seen');
    expect(await next).toBe('seen');
  });

  it('that hangs is aborted, stays the current one, and delays nobody beyond its deadline', async () => {
    const { clock, looks, shared, never } = setUp();
    const first = shared.get(never);
    const told = expect(first).rejects.toThrow('too late');
    await turn();
    await clock.advance(1_000);
    await told;
    expect(looks[0]!.signal.aborted).toBe(true);
    const second = shared.get(never);
    const toldToo = expect(second).rejects.toThrow('too late');
    await clock.advance(1_000);
    await toldToo;
    expect(looks).toHaveLength(1);
    looks[0]!.end('at last');
    await turn();
    const third = shared.get(never);
    await turn();
    expect(looks).toHaveLength(2);
    looks[1]!.end('seen');
    expect(await third).toBe('seen');
  });
});

describe('a cached value', () => {
  it('is served for a while after it was read, and read again then', async () => {
    const clock = new FakeClock();
    let reads = 0;
    const cached = new Cached({ clock, freshMs: 1_000, read: () => Promise.resolve(++reads) });
    const { signal } = new AbortController();
    expect(await cached.get(signal)).toBe(1);
    await clock.advance(999);
    expect(await cached.get(signal)).toBe(1);
    await clock.advance(1);
    expect(await cached.get(signal)).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is none when it could not be read', async () => {
    const { shared, looks, never } = setUp({ freshMs: 1_000 });
    const first = shared.get(never);
    await turn();
    looks[0]!.fail(new Error('no'));
    await expect(first).rejects.toThrow('no');
    const second = shared.get(never);
    await turn();
    looks[1]!.end('page');
    expect([await second, await shared.get(never), shared.value]).toEqual(['page', 'page', 'page']);
  });

  it('is freed before the next is read where nobody is served an old one', async () => {
    const { clock, shared, looks, never } = setUp({ freshMs: 100 });
    const first = shared.get(never);
    await turn();
    looks[0]!.end('old');
    await first;
    expect(shared.value).toBe('old');
    await clock.advance(100);
    const second = shared.get(never);
    expect(shared.value).toBeUndefined();
    await turn();
    looks[1]!.end('new');
    expect(await second).toBe('new');
  });

  it('is not stored where it is never served again', async () => {
    const { shared, looks, never } = setUp();
    const first = shared.get(never);
    await turn();
    looks[0]!.end('large');
    expect([await first, shared.value]).toEqual(['large', undefined]);
  });

  it('that is refreshed stays while it cannot be read, which is reported once', async () => {
    const complaints: string[] = [];
    const onError = (error: unknown): void => void complaints.push((error as Error).message);
    const { clock, shared, looks, never } = setUp({ onError });
    const refresh = async (end: (look: (typeof looks)[number]) => void): Promise<void> => {
      const refreshing = shared.refresh(never);
      await turn();
      end(looks.at(-1)!);
      await refreshing;
    };
    await refresh((look) => look.end('known'));
    for (const message of ['gone', 'gone', 'worse']) await refresh((look) => look.fail(new Error(message)));
    expect([shared.value, complaints]).toEqual(['known', ['gone', 'worse']]);
    await refresh((look) => look.end('back'));
    await refresh((look) => look.fail(new Error('worse')));
    expect([shared.value, complaints]).toEqual(['back', ['gone', 'worse', 'worse']]);
    const hanging = shared.refresh(never);
    await turn();
    await clock.advance(1_000);
    await hanging;
    expect(complaints.at(-1)).toBe('too late');
    looks.at(-1)!.end('late');
    await turn();
    const stop = new AbortController();
    const leaving = shared.refresh(stop.signal);
    stop.abort(new Error('enough'));
    await expect(leaving).rejects.toThrow('enough');
    expect([shared.value, complaints.at(-1)]).toEqual(['late', 'too late']);
  });
});
