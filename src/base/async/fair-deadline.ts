import { type Clock, type ClockTimer } from '../time/clock.js';

/** Options of {@link startFairDeadline}. */
export interface FairDeadlineOptions {
  readonly clock: Clock;
  /** Milliseconds from now. */
  readonly deadlineMs: number;
  /** Called once when the deadline has expired, unless it was cancelled before. */
  readonly onExpired: () => void;
  /** Does not keep the process alive. */
  readonly unref?: boolean;
}

/** The limit of Node's timers, about 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;
// A timer that fires this late means that the event loop was blocked.
const STALL_MS = 20;
const SHORTEST_GRACE_MS = 50;
const MAX_GRACE_MS = 1_000;
// A loop that stalls all the time must not postpone a deadline for ever.
const MAX_GRACES = 10;

/**
 * Starts a deadline that proves something about the other side.
 *
 * While the event loop is blocked, timers become due although the answer has arrived in the socket. The
 * timers run first, so a plain timeout would report a deadline that was met. When this timer fires, input is
 * read before the deadline counts. If it fired late, the other side also gets a short grace, about as long as
 * the stall.
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
    if (lateMs < STALL_MS || graces >= MAX_GRACES) return false;
    graces++;
    arm(Math.min(MAX_GRACE_MS, Math.max(SHORTEST_GRACE_MS, lateMs)));
    return true;
  };
  const readInputThenExpire = (): void => {
    const startedMs = clock.monotonicMs();
    // Timers run before input is read. After one round the input of this turn has been read; after the second
    // it has also been processed.
    setImmediate(() =>
      setImmediate(() => {
        if (cancelled || graceAfter(clock.monotonicMs() - startedMs)) return;
        cancelled = true;
        onExpired();
      }),
    );
  };

  arm(Math.min(options.deadlineMs, MAX_TIMER_MS));
  return {
    cancel: () => {
      cancelled = true;
      timer.cancel();
    },
  };
}
