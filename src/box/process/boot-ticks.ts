import { readFileSync } from 'node:fs';
import { parseUptimeMs, TICK_MS } from '#base/proc/proc-text.js';
import { type ProcessIdentity } from './child-identity.js';

/** What is known to two ticks: both clocks are read one after the other, and the kernel rounds. */
const SLACK_TICKS = 2;

/** A time as processes' start times are given, clock ticks since the start of the machine, rounded up. */
export function bootTicksAgo(agoMs: number): number {
  return computeBootTicks(readFileSync('/proc/uptime', 'latin1'), agoMs);
}

/** For how long a process has been there, in milliseconds, to two ticks. */
export function processAgeMs({ startTicks }: Pick<ProcessIdentity, 'startTicks'>): number {
  return parseUptimeMs(readFileSync('/proc/uptime', 'latin1')) - Number(startTicks) * TICK_MS;
}

/** @param uptime the text of /proc/uptime: seconds, with suspensions. */
export function computeBootTicks(uptime: string, agoMs: number): number {
  return Math.ceil((parseUptimeMs(uptime) - Math.max(0, agoMs)) / TICK_MS) + SLACK_TICKS;
}
