import { type Channels } from '#base/channels/publishing-channel.js';
import { type JournalPod, type JournalRecord } from '../journal/journal-record.js';
import { type CriCallEnd, criCallEnded } from '#base/channels/channels.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { podAdded } from '#base/channels/start-channels.js';
import { type PodSyncEnd, podSyncEnded } from '#base/channels/worker-channels.js';
import { type RepeatFolder } from './repeat-folder.js';

/** What all makers of records need. */
export interface RecordMaker {
  /** The agent's. */
  readonly channels: Channels;
  readonly clock: Clock;
  readonly repeats: RepeatFolder;
  readonly append: (record: JournalRecord) => void;
  /** The pod with this uid; undefined if it is not ours, or is forgotten. */
  readonly findPod: (uid: string) => JournalPod | undefined;
}

/** Calls that change a pod. */
const CHANGES = /^(Run|Stop|Remove|Create|Start|Update|Pull)/;
/** Garbage collection acts on pods after the last work on them, so the oldest memory is dropped first. */
const MAX_PODS = 1_000;
const MAX_CALLS = 50;

const WORDS: Readonly<Record<string, string>> = {
  SyncPod: 'Synced',
  TerminatingPod: 'Stopped',
  TerminatedPod: 'CleanedUp',
};

/** The calls since the last piece of work that was recorded. */
interface MadeCalls {
  readonly methods: string[];
  /** For each call, when it began and how long it took, in milliseconds: `1767225600000+250`. */
  readonly times: string[];
}

/** A pod that arrived and has no sandbox yet. */
interface Arrival {
  /** Wall-clock milliseconds. */
  readonly atMs: number;
  /** When the first work on it began. */
  workedAtMs: number | undefined;
}

/**
 * Records each piece of work on a pod that failed or changed something in the runtime, with its calls.
 *
 * Returns a function that stops recording.
 */
export function recordSyncs({ channels, clock, repeats, append, findPod }: RecordMaker): () => void {
  /** For each pod, the calls since its last piece of work. */
  const calls = new Map<string, MadeCalls>();
  const arrivals = new Map<string, Arrival>();
  /** Pods whose last work failed, in order of the failure. */
  const failing = new Set<string>();
  const leaveCalls = channels.subscribe(criCallEnded, ({ call, durationMs }: CriCallEnd) => {
    const uid = call.pod?.uid;
    if (uid === undefined || !CHANGES.test(call.method)) return;
    const made = calls.get(uid) ?? { methods: [], times: [] };
    if (made.methods.length < MAX_CALLS) {
      made.methods.push(call.method);
      made.times.push(`${call.startedAtMs}+${Math.round(durationMs)}`);
    }
    calls.delete(uid);
    calls.set(uid, made);
    if (calls.size > MAX_PODS) calls.delete(calls.keys().next().value!);
  });
  const leaveArrivals = channels.subscribe(podAdded, ({ uid }) => {
    arrivals.delete(uid);
    arrivals.set(uid, { atMs: clock.now(), workedAtMs: undefined });
    if (arrivals.size > MAX_PODS) arrivals.delete(arrivals.keys().next().value!);
  });
  const leaveSyncs = channels.subscribe(podSyncEnded, (end: PodSyncEnd) => {
    const { uid, workType, reason, error } = end;
    const arrival = arrivals.get(uid);
    if (arrival !== undefined) arrival.workedAtMs ??= clock.now() - end.durationMs + end.waitedMs;
    // Its calls are attributed to the newer work that interrupted it.
    if (end.isOvertaken === true) return;
    const { methods: made, times } = calls.get(uid) ?? { methods: [], times: [] };
    calls.delete(uid);
    const hasStarted = made.includes('RunPodSandbox');
    // Work that needs no sandbox found one: the pod was started by an earlier agent.
    if (hasStarted || error === undefined) arrivals.delete(uid);
    // Most work succeeds, and ending all repeats is a search through them.
    if (failing.delete(uid) && error === undefined) repeats.end(failureOf(uid));
    if (error !== undefined) failing.add(uid);
    if (failing.size > MAX_PODS) failing.delete(failing.values().next().value!);
    const pod = findPod(uid);
    const isNews = made.length > 0 || error !== undefined || workType === 'TerminatedPod';
    if (pod === undefined || !isNews) return;
    const base = {
      ...({ atMs: clock.now(), kind: 'sync', pod } as const),
      details: {
        ...{ workType, trigger: reason, calls: made, durationMs: Math.round(end.durationMs) },
        ...(made.length === 0 ? {} : { callTimes: times }),
        ...(hasStarted && arrival !== undefined ? toDetails(arrival) : {}),
      },
    };
    if (error === undefined) {
      const message = describe(end, made, undefined);
      append({ ...base, type: 'Normal', reason: WORDS[workType] ?? 'Synced', message });
      return;
    }
    const failed = messageOf(error);
    const message = describe(end, made, failed);
    const record = { ...base, type: 'Warning', reason: 'SyncFailed', message } as const;
    repeats.fold(`${failureOf(uid)}${failed}`, record, { isNews: made.length > 0 });
  });
  return () => {
    leaveCalls();
    leaveArrivals();
    leaveSyncs();
  };
}

function toDetails({ atMs, workedAtMs = atMs }: Arrival): { arrivedAtMs: number; workedAtMs: number } {
  return { arrivedAtMs: atMs, workedAtMs: Math.round(workedAtMs) };
}

/** The prefix of the keys of a pod's failures. */
function failureOf(uid: string): string {
  return `sync ${uid} `;
}

function describe(
  { workType, reason, durationMs }: PodSyncEnd,
  calls: readonly string[],
  failed: string | undefined,
): string {
  const made = calls.length === 0 ? '' : ` made ${calls.join(', ')} and`;
  const after = formatGoDuration(Math.round(durationMs));
  return `${workType} (${reason})${made} ${failed === undefined ? 'ended' : 'failed'} after ${after}${failed === undefined ? '' : `: ${failed}`}`;
}
