import { describe, expect, it, vi } from 'vitest';

import { Channels, definePublishingChannel, isHeard, publishTo } from './publishing-channel.js';

describe('a publishing channel', () => {
  it('passes each message to every subscriber until it unsubscribes', () => {
    const numbers = definePublishingChannel<number>('podloop:test:numbers');
    const seen: number[] = [];
    expect(numbers.hasSubscribers).toBe(false);
    numbers.publish(1);
    const leave = numbers.subscribe((message) => seen.push(message));
    const leaveToo = definePublishingChannel<number>('podloop:test:numbers').subscribe((message) =>
      seen.push(-message),
    );
    expect(numbers.hasSubscribers).toBe(true);
    numbers.publish(2);
    leave();
    numbers.publish(3);
    leaveToo();
    numbers.publish(4);
    expect(seen).toEqual([2, -2, -3]);
    expect(numbers.hasSubscribers).toBe(false);
  });
});

describe('the channels of an agent', () => {
  const numbers = definePublishingChannel<number>('podloop:test:numbers');
  const words = definePublishingChannel<string>('podloop:test:words');

  it('pass a message to their own subscribers and to those outside, and to no other agent’s', () => {
    const [one, other] = [new Channels(), new Channels()];
    const seen: string[] = [];
    const leave = [
      one.subscribe(numbers, (message) => seen.push(`one ${message}`)),
      one.subscribe(numbers, (message) => seen.push(`one too ${message}`)),
      other.subscribe(numbers, (message) => seen.push(`other ${message}`)),
      numbers.subscribe((message) => seen.push(`outside ${message}`)),
    ];
    one.publish(numbers, 1);
    expect(seen.splice(0)).toEqual(['one 1', 'one too 1', 'outside 1']);
    publishTo(other, numbers, 2);
    expect(seen.splice(0)).toEqual(['other 2', 'outside 2']);
    publishTo(undefined, numbers, 3);
    expect(seen.splice(0)).toEqual(['outside 3']);
    one.publish(words, 'nobody hears it');
    leave.forEach((each) => each());
    one.publish(numbers, 4);
    expect(seen).toEqual([]);
  });

  it('know whether anybody hears them', () => {
    const [one, other] = [new Channels(), new Channels()];
    const hears = (): boolean[] => [
      one.isHeard(numbers),
      isHeard(other, numbers),
      isHeard(undefined, numbers),
    ];
    expect(hears()).toEqual([false, false, false]);
    const leave = one.subscribe(numbers, () => undefined);
    expect(hears()).toEqual([true, false, false]);
    expect(one.isHeard(words)).toBe(false);
    leave();
    leave();
    expect(hears()).toEqual([false, false, false]);
    const leaveOutside = numbers.subscribe(() => undefined);
    expect(hears()).toEqual([true, true, true]);
    leaveOutside();
  });

  it('keep a subscriber that throws from the publisher and from other subscribers', () => {
    const channels = new Channels();
    const thrown: unknown[] = [];
    const nextTick = vi.spyOn(process, 'nextTick').mockImplementation((callback: unknown) => {
      thrown.push(callback);
    });
    const failure = new Error('no');
    const seen: number[] = [];
    channels.subscribe(numbers, () => {
      throw failure;
    });
    channels.subscribe(numbers, (message) => seen.push(message));
    channels.publish(numbers, 1);
    nextTick.mockRestore();
    expect(seen).toEqual([1]);
    // It is not swallowed either.
    expect(thrown).toHaveLength(1);
    expect(thrown[0]).toThrow(failure);
  });
});
