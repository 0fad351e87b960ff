/**
 * Loaded into podloop with `--import`: keeps when each CRI call was made and answered and when each event of the runtime
 * came, as podloop's own diagnostics channels tell it, and writes it to a file when the process ends.
 *
 * The file is named in the address of this module, after `?file=`. Nothing is written before the end, so that nobody is
 * disturbed.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import { criCallEnded } from '#base/channels/channels.js';
import { runtimeEventReceived } from '#base/channels/pleg-channels.js';
import { type CallTrace, type TracedCall, type TracedEvent } from './trace-calls.js';

/** More than any benchmark makes; what comes later is not kept. */
const KEPT = 2_000_000;

const file = new URL(import.meta.url).searchParams.get('file')!;
const calls: TracedCall[] = [];
const events: TracedEvent[] = [];

const wallMs = (): number => performance.timeOrigin + performance.now();

criCallEnded.subscribe(({ call, durationMs }) => {
  if (call.streaming || calls.length >= KEPT) return;
  const endedMs = wallMs();
  const { method, pod, containerId } = call;
  calls.push({ method, podUid: pod?.uid, containerId, beganMs: endedMs - durationMs, endedMs });
});
runtimeEventReceived.subscribe(({ type, containerId }) => {
  if (events.length < KEPT) events.push({ type, containerId, atMs: wallMs() });
});
process.once('exit', () => writeFileSync(file, JSON.stringify({ calls, events } satisfies CallTrace)));
