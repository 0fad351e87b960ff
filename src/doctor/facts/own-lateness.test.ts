import { describe, expect, it } from 'vitest';
import { type Clock } from '#base/time/clock.js';
import { OwnLateness } from './own-lateness.js';

/** A clock whose time the test sets, and whose timers fire only when the test lets the loop turn. */
class StallingClock {
  nowMs = 0;
  #timers: { readonly dueMs: number; readonly callback: () => void }[] = [];

  monotonicMs(): number {
    return this.nowMs;
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    const timer = { dueMs: this.nowMs + delayMs, callback };
    this.#timers.push(timer);
    return { cancel: () => (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  turn(): void {
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.nowMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { callback } of due) callback();
  }
}

describe('OwnLateness', () => {
  it('is what the loop was late by, also before its timers could say so', () => {
    const clock = new StallingClock();
    const lateness = new OwnLateness(clock as unknown as Clock);
    lateness.start();
    for (let turns = 0; turns < 10; turns++) {
      clock.nowMs += 5;
      clock.turn();
    }
    expect(lateness.totalMs).toBe(0);
    clock.nowMs += 505;
    expect(lateness.totalMs).toBe(500);
    clock.turn();
    expect(lateness.totalMs).toBe(500);
    clock.nowMs += 35;
    lateness.stop();
    expect(lateness.totalMs).toBe(530);
    clock.nowMs += 1_000;
    expect(lateness.totalMs).toBe(530);
  });

  it('misses hardly anything of stalls that begin at any time, and takes no slow timer for one', () => {
    const clock = new StallingClock();
    const lateness = new OwnLateness(clock as unknown as Clock);
    lateness.start();
    for (let turns = 0; turns < 200; turns++) {
      clock.nowMs += 6.5;
      clock.turn();
    }
    expect(lateness.totalMs).toBe(0);
    for (let stalls = 0; stalls < 50; stalls++) {
      for (let turns = 0; turns < stalls; turns++) {
        clock.nowMs += 1;
        clock.turn();
      }
      clock.nowMs += 150;
      clock.turn();
    }
    lateness.stop();
    expect(lateness.totalMs / (50 * 150)).toBeGreaterThan(0.97);
    expect(lateness.totalMs / (50 * 150)).toBeLessThanOrEqual(1);
  });
});
