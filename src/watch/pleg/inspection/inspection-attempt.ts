import { type ObservedPod, type PodStatus } from '../../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { diffPods } from '../diff.js';
import { type PodLifecycleEvent, type Trigger } from '../pod-lifecycle-event.js';
import { type EventContext, toListEvents } from '../lifecycle-events.js';
import { withMemoryKills } from '../announced/memory-kills.js';
import { type PodRecord } from '../pod-records.js';
import { statusWithExits, type AnnouncedExits } from '../announced/announced-exits.js';
import { type ConditionSnapshot, type WatchConditions } from '../watch-conditions.js';

/** The state when the inspection of a pod began: its events are about this, whatever is seen meanwhile. */
export interface InspectionAttempt {
  readonly snapshot: ObservedPod;
  readonly stamp: Stamp;
  readonly reinspection: boolean;
  readonly trigger: Trigger;
  readonly conditions: readonly ConditionSnapshot[];
  /** Exits in the snapshot that the runtime may not show yet. */
  readonly announcedExits: AnnouncedExits;
}

/**
 * Takes from the record what an inspection that begins now has to answer; later changes are for the next one.
 */
export function beginAttempt(record: PodRecord, conditions: WatchConditions): InspectionAttempt {
  const attempt = {
    snapshot: record.seen,
    stamp: record.seenStamp,
    reinspection: record.reinspect,
    trigger: record.trigger ?? 'request',
    conditions: conditions.snapshot(record.pod.uid),
    announcedExits: record.announcedExits,
  };
  record.reinspect = false;
  record.trigger = undefined;
  return attempt;
}

/** Makes what an inspection took from the record due again, after we cancelled it ourselves. */
export function putBack(record: PodRecord, attempt: InspectionAttempt | undefined): void {
  if (attempt === undefined) return;
  record.reinspect ||= attempt.reinspection;
  record.trigger ??= attempt.trigger;
}

/** The result of a successful inspection. */
export interface InspectionNews {
  /** The status for the cache. */
  readonly status: PodStatus;
  readonly events: readonly PodLifecycleEvent[];
  /** The context shared by these events, for other events of the same inspection. */
  readonly context: EventContext;
}

/**
 * Computes what is new since the accepted list, from the fetched status and the one `known` before.
 *
 * Changes nothing; throws if the status makes no sense. `observedAtMs` is wall-clock time.
 */
export function computeNews(
  record: PodRecord,
  attempt: InspectionAttempt,
  fetched: PodStatus,
  known: PodStatus,
  observedAtMs: number,
): InspectionNews {
  const { snapshot, stamp, trigger, reinspection, announcedExits } = attempt;
  // An answer may be older than the known status, if its call hung and an event came meanwhile.
  const shown = withMemoryKills(statusWithExits(fetched, announcedExits), known.containers);
  const status = keepIps(record, shown);
  const context = { pod: record.pod, owner: snapshot.owner, trigger, stamp, observedAtMs };
  const changes = diffPods(record.accepted, snapshot);
  const fleeting = record.fleeting(snapshot);
  const events = toListEvents(changes, fleeting, [status, known], context, reinspection);
  return { status, events, context };
}

/** The known status without the members that `seen` no longer shows. Pure. */
export function withoutGone(known: PodStatus, seen: ObservedPod): PodStatus {
  const left = new Set([...seen.sandboxes, ...seen.containers].map(({ id }) => id));
  const isLeft = ({ id }: { readonly id: string }): boolean => left.has(id);
  return {
    ...known,
    sandboxes: known.sandboxes.filter(isLeft),
    containers: known.containers.filter(isLeft),
  };
}

/** A pod being torn down has already lost its addresses, but people still want to know them. */
function keepIps(record: PodRecord, status: PodStatus): PodStatus {
  if (status.ips.length > 0 || record.ips.length === 0) return status;
  const running = status.sandboxes.some((sandbox) => sandbox.state === 'running');
  return running ? status : { ...status, ips: record.ips };
}
