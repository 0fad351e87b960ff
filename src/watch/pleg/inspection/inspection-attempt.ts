import { type ObservedPod, type PodStatus } from '../../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { diffPods } from '../diff.js';
import { type PodLifecycleEvent, type Trigger } from '../events.js';
import { type EventContext, toLookEvents } from '../lifecycle-events.js';
import { withMemoryKills } from '../announced/memory-kills.js';
import { type PodRecord } from '../pod-records.js';
import { statusWithEnds, type ToldEnds } from '../announced/told-ends.js';
import { type ConditionSnapshot, type WatchConditions } from '../watch-conditions.js';

/** What stood when the inspection of a pod began: its events are about this, whatever is seen meanwhile. */
export interface InspectionAttempt {
  readonly snapshot: ObservedPod;
  readonly stamp: Stamp;
  readonly reinspection: boolean;
  readonly trigger: Trigger;
  readonly conditions: readonly ConditionSnapshot[];
  /** Ends in the snapshot that the runtime may not show yet. */
  readonly ends: ToldEnds;
}

/** Takes from the record what an inspection that begins now is to answer; what comes later is for the next one. */
export function beginAttempt(record: PodRecord, conditions: WatchConditions): InspectionAttempt {
  const attempt = {
    snapshot: record.seen,
    stamp: record.seenStamp,
    reinspection: record.reinspect,
    trigger: record.trigger ?? 'request',
    conditions: conditions.snapshot(record.pod.uid),
    ends: record.ends,
  };
  record.reinspect = false;
  record.trigger = undefined;
  return attempt;
}

/** The inspection was given up by ourselves: what was taken from the record is due again, as if it had not begun. */
export function putBack(record: PodRecord, attempt: InspectionAttempt | undefined): void {
  if (attempt === undefined) return;
  record.reinspect ||= attempt.reinspection;
  record.trigger ??= attempt.trigger;
}

/** What an inspection that succeeded has to tell. */
export interface InspectionNews {
  /** The status for the cache. */
  readonly status: PodStatus;
  readonly events: readonly PodLifecycleEvent[];
  /** What those events share, for others of the same inspection. */
  readonly context: EventContext;
}

/**
 * Computes what is new since the record's accepted look, from the status that was fetched and the one `known` before.
 * Changes nothing; throws when the status makes no sense. `observedAtMs` is wall-clock time.
 */
export function computeNews(
  record: PodRecord,
  attempt: InspectionAttempt,
  fetched: PodStatus,
  known: PodStatus,
  observedAtMs: number,
): InspectionNews {
  const { snapshot, stamp, trigger, reinspection, ends } = attempt;
  // An answer may be older than what was known: of one call that hung, and of what an event told meanwhile.
  const shown = withMemoryKills(statusWithEnds(fetched, ends), known.containers);
  const status = keepIps(record, shown);
  const context = { pod: record.pod, owner: snapshot.owner, trigger, stamp, observedAtMs };
  const changes = diffPods(record.accepted, snapshot);
  const fleeting = record.fleeting(snapshot);
  const events = toLookEvents(changes, fleeting, [status, known], context, reinspection);
  return { status, events, context };
}

/** What was known of a pod, but for what `seen` no longer shows. Pure. */
export function withoutGone(known: PodStatus, seen: ObservedPod): PodStatus {
  const left = new Set([...seen.sandboxes, ...seen.containers].map(({ id }) => id));
  const isLeft = ({ id }: { readonly id: string }): boolean => left.has(id);
  return {
    ...known,
    sandboxes: known.sandboxes.filter(isLeft),
    containers: known.containers.filter(isLeft),
  };
}

/** A pod being torn down has lost its addresses already; what it had is what people still want to know. */
function keepIps(record: PodRecord, status: PodStatus): PodStatus {
  if (status.ips.length > 0 || record.ips.length === 0) return status;
  const running = status.sandboxes.some((sandbox) => sandbox.state === 'running');
  return running ? status : { ...status, ips: record.ips };
}
