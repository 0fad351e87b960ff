import { describe, expect, it } from 'vitest';

import { definePublishingChannel } from './publishing-channel.js';

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
