import { readFileSync } from 'node:fs';
import { type ProcessIdentity } from './child-identity.js';

/** In which start times of processes are counted, for all programs and on every machine: USER_HZ. */
const TICK_MS = 10;
/** What is known to two ticks: both clocks are read one after the other, and the kernel rounds. */
const SLACK_TICKS = 2;

/** A time as processes' start times are given, clock ticks since the start of the machine, rounded up. */
export function bootTicksAgo(agoMs: number): number {
  return computeBootTicks(readFileSync('/proc/uptime', 'latin1'), agoMs);
}

/** For how long a process has been there, in milliseconds, to two ticks. */
export function processAgeMs({ startTicks }: Pick<ProcessIdentity, 'startTicks'>): number {
  return parseUpMs(readFileSync('/proc/uptime', 'latin1')) - Number(startTicks) * TICK_MS;
}

/** @param uptime the text of /proc/uptime: seconds, with suspensions. */
export function computeBootTicks(uptime: string, agoMs: number): number {
  return Math.ceil((parseUpMs(uptime) - Math.max(0, agoMs)) / TICK_MS) + SLACK_TICKS;
}

function parseUpMs(uptime: string): number {
  return Number.parseFloat(uptime) * 1_000;
}
