/**
 * Builds the report that `/debug/pleg` returns and `podloop top pleg` shows.
 *
 * In: the present state of the event generator and of the calls to the runtime, and the messages of the
 * diagnostics channels since the reporter was made. Out: a {@link PlegReport}, plain JSON. A hang shows in it
 * while it lasts.
 *
 * It assumes one event generator per process, as the channels do not say whose a relist was.
 *
 * @module
 */
import { type Channels } from '#base/channels/publishing-channel.js';
import { isEndless } from '../cri/index.js';
import {
  type PlegReport,
  type ReportedCall,
  type ReportedCgroups,
  type ReportedCluster,
  type ReportedHealth,
} from '#kube/node/pleg-report.js';
import { type PlegHealth, type PlegState } from '../pleg/index.js';
import { type CriCall } from '#base/channels/channels.js';
import { type Clock } from '#base/time/clock.js';
import { EventLoopDelay } from './event-loop-delay.js';
import { InspectionTimes } from './inspection-times.js';
import { OperationTimes } from './operation-times.js';
import { RelistHistory } from './relist-history.js';

/** The sources of a {@link PlegReporter}. */
export interface PlegReporterOptions {
  readonly clock: Clock;
  /** Those of the generator and of the runtime's client. */
  readonly channels: Channels;
  readonly runtime: PlegReport['runtime'];
  readonly pleg: { health(): PlegHealth; state(): PlegState };
  /** Pods that the runtime shows. */
  readonly uids: () => Iterable<string>;
  /** Unanswered calls, oldest first. */
  readonly callsInFlight: () => readonly CriCall[];
  /** Pods of an agent by phase; absent if only the runtime is watched. */
  readonly podsByPhase?: () => Readonly<Record<string, number>>;
  /** The state of the connection to the API server; absent without a cluster. */
  readonly cluster?: (() => ReportedCluster) | undefined;
  /** How pods are put into cgroups; absent if only the runtime is watched. */
  readonly cgroups?: (() => ReportedCgroups) | undefined;
  /** An existing measurement of the event loop (default: one of its own). */
  readonly loopDelay?: Pick<EventLoopDelay, 'read'>;
}

/** How many calls in flight are reported. */
const REPORTED_CALLS = 200;

/** See the comment of this module. It counts from its creation until it is disposed of. */
export class PlegReporter implements Disposable {
  readonly #options: PlegReporterOptions;
  readonly #startedMs: number;
  readonly #relists: RelistHistory;
  readonly #operations: OperationTimes;
  readonly #inspections: InspectionTimes;
  readonly #loopDelay: Pick<EventLoopDelay, 'read'>;
  #ownLoopDelay: EventLoopDelay | undefined;

  constructor(options: PlegReporterOptions) {
    const { clock, channels } = options;
    this.#options = options;
    this.#startedMs = clock.monotonicMs();
    this.#relists = new RelistHistory({ clock, channels });
    this.#operations = new OperationTimes(channels);
    this.#inspections = new InspectionTimes(channels);
    this.#loopDelay = options.loopDelay ?? (this.#ownLoopDelay = new EventLoopDelay({ clock }));
  }

  /** The present report. */
  read(): PlegReport {
    const { clock, runtime, pleg, uids, callsInFlight, podsByPhase, cluster, cgroups } = this.#options;
    const health = pleg.health();
    const state = pleg.state();
    const calls = callsInFlight().filter((call) => !isEndless(call));
    const { listInFlightMs } = health;
    return {
      atMs: clock.now(),
      forMs: clock.monotonicMs() - this.#startedMs,
      runtime,
      mode: state.mode,
      periodMs: state.periodMs,
      health: toReportedHealth(health, clock.now()),
      relists: {
        count: state.relists,
        ofOnePod: state.podRelists,
        ...(listInFlightMs === undefined ? {} : { listInFlightMs }),
        history: this.#relists.list(),
      },
      stuckPods: health.stuckPods.map(({ pod, state: how, sinceMs, forMs, failures, error }) => ({
        ...{ pod: namesOf(pod), state: how, sinceMs, forMs, failures },
        ...(error === undefined ? {} : { error }),
      })),
      stuckPodCount: health.stuckPodCount,
      callsInFlight: calls
        .slice(0, REPORTED_CALLS)
        .map((call) => toReportedCall(call, clock.monotonicMs() - call.startedAtMonotonicMs)),
      callsInFlightCount: calls.length,
      operations: this.#operations.list(),
      slowestPods: this.#inspections.list(state.inspectionsInFlight, new Set(uids())),
      inspections: {
        count: state.inspections.inspections,
        failed: state.inspections.failures,
        displaced: state.inspections.displaced,
        inFlight: state.inspectionsInFlight.length,
        queued: state.inspections.queued,
        due: state.inspections.due,
      },
      stream: toReportedStream(state.stream),
      queues: { requests: state.requests, subscriptions: state.subscriptions },
      pods: {
        count: state.pods,
        running: state.runningPods,
        containersByState: state.containersByState,
        ...(podsByPhase === undefined ? {} : { byPhase: podsByPhase() }),
      },
      events: { ...state.events },
      eventLoop: this.#loopDelay.read(),
      ...(cluster === undefined ? {} : { cluster: cluster() }),
      ...(cgroups === undefined ? {} : { cgroups: cgroups() }),
    };
  }

  [Symbol.dispose](): void {
    for (const part of [this.#relists, this.#operations, this.#inspections, this.#ownLoopDelay]) {
      part?.[Symbol.dispose]();
    }
  }
}

function toReportedHealth(health: PlegHealth, nowMs: number): ReportedHealth {
  const { healthy, message, reason, thresholdMs, lastSeenAtMs } = health;
  return {
    healthy,
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason: reason.kind }),
    ...(reason?.error === undefined ? {} : { error: reason.error }),
    thresholdMs,
    ...(lastSeenAtMs === undefined ? {} : { lastSeenAtMs, lastSeenAgoMs: nowMs - lastSeenAtMs }),
  };
}

function toReportedCall(call: CriCall, ageMs: number): ReportedCall {
  const { method, operation, pod, containerId, sandboxId, startedAtMs, deadlineMs, ownMs } = call;
  return {
    ...{ method, operation },
    ...(pod === undefined ? {} : { pod: namesOf(pod) }),
    ...(containerId === undefined ? {} : { containerId }),
    ...(sandboxId === undefined ? {} : { sandboxId }),
    ...{ startedAtMs, ageMs },
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(ownMs === undefined ? {} : { ownMs }),
  };
}

function toReportedStream(stream: PlegState['stream']): PlegReport['stream'] {
  const { lastError, connectedAtMs, ...counts } = stream;
  return {
    ...counts,
    ...(lastError === undefined ? {} : { lastError }),
    ...(connectedAtMs === undefined ? {} : { connectedAtMs }),
  };
}

/**
 * Reduces a pod to its names: the object may be a whole list entry, with numbers that JSON cannot represent.
 */
function namesOf({ uid, namespace, name }: { uid: string; namespace: string; name: string }) {
  return { uid, namespace, name };
}
