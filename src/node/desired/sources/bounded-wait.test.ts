import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { watchPromise } from '#support/watch-promise.js';
import { BoundedWait } from './bounded-wait.js';

const never = new AbortController().signal;

describe('a wait with a bound', () => {
  it('gives what the call gives, well or not', async () => {
    const clock = new FakeClock();
    const wait = new BoundedWait(clock, 1_000);
    await expect(wait.call(async () => 1, never)).resolves.toBe(1);
    await expect(wait.call(async () => Promise.reject(new Error('no')), never)).rejects.toThrow('no');
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends at the deadline, and lets no second call out until the first is back', async () => {
    const clock = new FakeClock();
    const wait = new BoundedWait(clock, 1_000);
    let release = (): void => undefined;
    let calls = 0;
    const hung = async (): Promise<number> => {
      calls++;
      await new Promise<void>((resolve) => (release = resolve));
      return calls;
    };
    const [first, second] = [watchPromise(wait.call(hung, never)), watchPromise(wait.call(hung, never))];
    await clock.advance(1_000);
    expect(first.error).toMatchObject({ message: 'the file system has not answered for 1 s' });
    expect(second.error).toMatchObject({ message: 'the file system has not answered for 1 s' });
    expect(calls).toBe(1);
    const third = watchPromise(wait.call(async () => 'at last', never));
    await clock.settle();
    expect(third).toEqual({ value: undefined, error: undefined });
    release();
    await clock.settle();
    expect(third.value).toBe('at last');
  });

  it('ends with the signal', async () => {
    const stop = new AbortController();
    const clock = new FakeClock();
    const call = new BoundedWait(clock, 1_000).call(async () => new Promise(() => undefined), stop.signal);
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(clock.pendingTimers).toBe(0);
  });
});
