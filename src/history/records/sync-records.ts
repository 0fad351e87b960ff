import { type JournalPod, type JournalRecord } from '../journal/journal-record.js';
import { type CriCallEnd, criCallEnded } from '#base/channels/channels.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type PodSyncEnd, podSyncEnded } from '#base/channels/worker-channels.js';
import { type Repeats } from './repeats.js';

/** What those that make records share. */
export interface RecordMaker {
  readonly clock: Clock;
  readonly repeats: Repeats;
  readonly append: (record: JournalRecord) => void;
  /** The pod with that uid; undefined for one that is not ours, or forgotten. */
  readonly findPod: (uid: string) => JournalPod | undefined;
}

/** Calls that change a pod. */
const CHANGES = /^(Run|Stop|Remove|Create|Start|Update|Pull)/;
/** Collectors go on with pods after the last work on them: what was remembered longest ago goes first. */
const MOST_PODS = 1_000;
const MOST_CALLS = 50;

const WORDS: Readonly<Record<string, string>> = {
  SyncPod: 'Synced',
  TerminatingPod: 'Stopped',
  TerminatedPod: 'CleanedUp',
};

/**
 * Records each piece of work on a pod that failed, or that changed something in the runtime: with the calls that it made.
 * Until the returned function is called.
 */
export function recordSyncs({ clock, repeats, append, findPod }: RecordMaker): () => void {
  /** Of each pod, the calls since its last piece of work. */
  const calls = new Map<string, string[]>();
  /** Pods whose last work failed, the one that failed last at the end. */
  const failing = new Set<string>();
  const leaveCalls = criCallEnded.subscribe(({ call }: CriCallEnd) => {
    const uid = call.pod?.uid;
    if (uid === undefined || !CHANGES.test(call.method)) return;
    const made = calls.get(uid) ?? [];
    if (made.length < MOST_CALLS) made.push(call.method);
    calls.delete(uid);
    calls.set(uid, made);
    if (calls.size > MOST_PODS) calls.delete(calls.keys().next().value!);
  });
  const leaveSyncs = podSyncEnded.subscribe((end: PodSyncEnd) => {
    const { uid, workType, reason, error } = end;
    // The work that overtook it goes on with what it did.
    if (end.isOvertaken === true) return;
    const made = calls.get(uid) ?? [];
    calls.delete(uid);
    // Most work goes well, and all that repeats would be gone through for it.
    if (failing.delete(uid) && error === undefined) repeats.end(failureOf(uid));
    if (error !== undefined) failing.add(uid);
    if (failing.size > MOST_PODS) failing.delete(failing.values().next().value!);
    const pod = findPod(uid);
    const isNews = made.length > 0 || error !== undefined || workType === 'TerminatedPod';
    if (pod === undefined || !isNews) return;
    const base = {
      ...({ atMs: clock.now(), kind: 'sync', pod } as const),
      details: { workType, trigger: reason, calls: made, durationMs: Math.round(end.durationMs) },
    };
    if (error === undefined) {
      const message = describe(end, made, undefined);
      append({ ...base, type: 'Normal', reason: WORDS[workType] ?? 'Synced', message });
      return;
    }
    const failed = messageOf(error);
    const message = describe(end, made, failed);
    const record = { ...base, type: 'Warning', reason: 'SyncFailed', message } as const;
    repeats.tell(`${failureOf(uid)}${failed}`, record, { isNews: made.length > 0 });
  });
  return () => {
    leaveCalls();
    leaveSyncs();
  };
}

/** How the keys of a pod's failures begin. */
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
