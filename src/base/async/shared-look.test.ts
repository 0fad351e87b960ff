import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SharedLook } from './shared-look.js';

function setUp() {
  const clock = new FakeClock();
  const looks: { readonly signal: AbortSignal; end(value: string): void; fail(error: Error): void }[] = [];
  const shared = new SharedLook<string>({
    ...{ clock, deadlineMs: 1_000, late: () => new Error('too late') },
    look: async (signal) =>
      new Promise((resolve, reject) => looks.push({ signal, end: resolve, fail: reject })),
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
