import { type JournalPod, type JournalRecord } from '../../journal/journal-record.js';
import { type CriCallEnd, criCallEnded } from '../../util/channels.js';
import { type Clock } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { formatGoDuration } from '../../util/go-duration.js';
import { type PodSyncEnd, podSyncEnded } from '../../util/worker-channels.js';
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
/** Of pods whose work never ends: no more is remembered. */
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
  const leaveCalls = criCallEnded.subscribe(({ call }: CriCallEnd) => {
    const uid = call.pod?.uid;
    if (uid === undefined || !CHANGES.test(call.method)) return;
    const made = calls.get(uid) ?? [];
    if (made.length < MOST_CALLS) made.push(call.method);
    if (calls.has(uid) || calls.size < MOST_PODS) calls.set(uid, made);
  });
  const leaveSyncs = podSyncEnded.subscribe((end: PodSyncEnd) => {
    const { uid, workType, reason, error } = end;
    const made = calls.get(uid) ?? [];
    calls.delete(uid);
    const pod = findPod(uid);
    const isNews = made.length > 0 || error !== undefined || workType === 'TerminatedPod';
    if (pod === undefined || !isNews) return;
    const failed = error === undefined ? undefined : messageOf(error);
    const repeat = failed === undefined ? undefined : repeats.note(`sync ${uid} ${failed}`);
    if (failed !== undefined && repeat === undefined && made.length === 0) return;
    append({
      ...{ atMs: clock.now(), kind: 'sync', pod },
      type: failed === undefined ? 'Normal' : 'Warning',
      reason: failed === undefined ? (WORDS[workType] ?? 'Synced') : 'SyncFailed',
      message: describe(end, made, failed),
      ...repeat,
      details: { workType, trigger: reason, calls: made, durationMs: Math.round(end.durationMs) },
    });
  });
  return () => {
    leaveCalls();
    leaveSyncs();
  };
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
