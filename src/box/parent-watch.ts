import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { findProcess, isAlive } from './process/child-identity.js';

/** What {@link waitForProcessEnd} needs. */
export interface ProcessWatchOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 250;

/**
 * Resolves within half a second once a process has ended, whoever gets its number afterwards; rejects with the
 * signal's reason when it aborts, and with OPTION_INVALID when there is no such process to begin with.
 */
export async function waitForProcessEnd(pid: number, options: ProcessWatchOptions): Promise<void> {
  const process = findProcess(pid);
  if (process === undefined) throw new PodloopError('OPTION_INVALID', `there is no process ${pid}`);
  while (isAlive(process)) await options.clock.sleep(POLL_MS, options.signal);
}
