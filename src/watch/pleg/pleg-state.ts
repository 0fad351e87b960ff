import { type ObservedState } from '../observed/runtime.js';
import { type StreamInfo } from './announced/event-hints.js';
import { type EventStream } from './event-stream.js';
import { type PodLifecycleEvent } from './pod-lifecycle-event.js';
import { type InspectionInFlight } from './inspection/inspection-pool.js';
import { type Inspector } from './inspection/inspector.js';
import { type PodRecords } from './pod-records.js';
import { type PlegMode } from './relist/relist-cadence.js';
import { type RelistRequests } from './relist/relist-requests.js';
import { type Subscription, type SubscriptionStats } from './subscription.js';

/** The generator's state at one moment, for metrics, debug pages and tests. */
export interface PlegState {
  readonly mode: PlegMode;
  /** The present relist period, in milliseconds. */
  readonly periodMs: number;
  /** Successful relists of all pods; `podRelists` counts those of one pod. */
  readonly relists: number;
  readonly podRelists: number;
  /** Pods in the last lists. */
  readonly pods: number;
  /** Pods with a running sandbox, or with a running container and no sandbox. */
  readonly runningPods: number;
  /** Containers by state, not counting sandboxes. */
  readonly containersByState: Readonly<Record<ObservedState, number>>;
  /** Events made so far, by type; folding in a reader's queue does not change these counts. */
  readonly events: EventCounts;
  readonly inspections: Inspector['stats'];
  readonly inspectionsInFlight: readonly InspectionInFlight[];
  readonly requests: {
    readonly queued: number;
    readonly coalesced: number;
    readonly folded: number;
  };
  readonly stream: StreamInfo & EventStream['stats'];
  readonly subscriptions: readonly SubscriptionStats[];
  /** Totals of all subscriptions, including what closed ones delivered and folded. */
  readonly delivery: { readonly queued: number; readonly delivered: number; readonly folded: number };
}

/** How many events of each type were made. */
export type EventCounts = Readonly<Partial<Record<PodLifecycleEvent['type'], number>>>;

/** The input of the state. */
export interface PlegParts {
  readonly mode: PlegMode;
  readonly periodMs: number;
  readonly relists: number;
  readonly podRelists: number;
  readonly records: PodRecords;
  readonly events: EventCounts;
  readonly inspector: Inspector;
  readonly requests: RelistRequests;
  readonly stream: EventStream;
  readonly subscriptions: ReadonlySet<Subscription>;
  /** The same for closed subscriptions. */
  readonly delivered: { readonly delivered: number; readonly folded: number };
}

/** Computes the state from its parts; it walks over all pods, so do not call it for every relist. */
export function computePlegState(parts: PlegParts): PlegState {
  const { mode, periodMs, relists, podRelists, records, events, inspector, requests, stream, subscriptions } =
    parts;
  const containersByState: Record<ObservedState, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
  let runningPods = 0;
  for (const { seen } of records) {
    for (const container of seen.containers) containersByState[container.state]++;
    const members = seen.sandboxes.length > 0 ? seen.sandboxes : seen.containers;
    if (members.some((member) => member.state === 'running')) runningPods++;
  }
  const open = [...subscriptions].map((subscription) => subscription.stats);
  const delivery = { queued: 0, ...parts.delivered };
  for (const { queued, delivered, folded } of open) {
    delivery.queued += queued;
    delivery.delivered += delivered;
    delivery.folded += folded;
  }
  return {
    mode,
    periodMs,
    relists,
    podRelists,
    pods: records.size,
    runningPods,
    containersByState,
    events: { ...events },
    inspections: inspector.stats,
    inspectionsInFlight: inspector.inFlight(),
    requests: { queued: requests.size, coalesced: requests.coalesced, folded: requests.folded },
    stream: { ...stream.info, ...stream.stats },
    subscriptions: open,
    delivery,
  };
}
