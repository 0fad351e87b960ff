import { type Clock, type ClockTimer } from '../time/clock.js';

/** What {@link startFairDeadline} needs. */
export interface FairDeadlineOptions {
  readonly clock: Clock;
  /** Milliseconds from now. */
  readonly deadlineMs: number;
  /** Called once, unless it was cancelled before: there was time, and nothing came. */
  readonly onExpired: () => void;
  /** It does not keep the process alive. */
  readonly unref?: boolean;
}

/** What Node's timers can hold, some 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
// A timer that fires this late says that the event loop was busy with something else.
const STALL_MS = 20;
const SHORTEST_GRACE_MS = 50;
const LONGEST_GRACE_MS = 1_000;
// A loop that stalls all the time must not keep a deadline from ever passing.
const MOST_GRACES = 10;

/**
 * A deadline that proves something about the other side.
 *
 * While the event loop is stalled, timers fall due although the answer lies in the socket: they run first, and
 * whoever believes them reports a deadline that did not pass. So, when the timer fires, what has arrived is read
 * before the deadline is believed; when it fired late, the other side gets a short grace besides, about as long
 * as the stall.
 */
export function startFairDeadline(options: FairDeadlineOptions): ClockTimer {
  const { clock, onExpired, unref = false } = options;
  let timer: ClockTimer;
  let cancelled = false;
  let graces = 0;

  const arm = (delayMs: number): void => {
    const dueMs = clock.monotonicMs() + delayMs;
    timer = clock.setTimer(
      delayMs,
      () => {
        if (!graceAfter(clock.monotonicMs() - dueMs)) readInputThenExpire();
      },
      { unref },
    );
  };
  const graceAfter = (lateMs: number): boolean => {
    if (lateMs < STALL_MS || graces >= MOST_GRACES) return false;
    graces++;
    arm(Math.min(LONGEST_GRACE_MS, Math.max(SHORTEST_GRACE_MS, lateMs)));
    return true;
  };
  const readInputThenExpire = (): void => {
    const startedMs = clock.monotonicMs();
    // Timers run before input is read: after one round the input of this turn was read, after the second
    // also what became of it.
    setImmediate(() =>
      setImmediate(() => {
        if (cancelled || graceAfter(clock.monotonicMs() - startedMs)) return;
        cancelled = true;
        onExpired();
      }),
    );
  };

  arm(Math.min(options.deadlineMs, LONGEST_TIMER_MS));
  return {
    cancel: () => {
      cancelled = true;
      timer.cancel();
    },
  };
}
