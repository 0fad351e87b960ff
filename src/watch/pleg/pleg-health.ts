import { formatGoDuration } from '#base/time/go-duration.js';
import { type StuckPod } from './stuck-pods.js';

/** Why the generator is unhealthy. */
export interface UnhealthyReason {
  readonly kind:
    | 'neverSucceeded'
    /** A list call is under way that has not been answered. */
    | 'listHanging'
    /** The list calls fail. */
    | 'listFailing'
    /** No relist was begun: the generator is not running. */
    | 'notRelisting'
    /** The lists are answered, but no pod's status is, due or not. */
    | 'inspectionsFailing';
  /** Wall-clock milliseconds of the last success; undefined when there was none. */
  readonly sinceMs: number | undefined;
  /** The last error; undefined when the call just hangs. */
  readonly error: string | undefined;
}

/** How the generator is. */
export interface PlegHealth {
  readonly healthy: boolean;
  /** The kubelet's words when unhealthy: "pleg has yet to be successful", "pleg was last seen active 3m5s ago; threshold is 3m0s". */
  readonly message: string | undefined;
  readonly reason: UnhealthyReason | undefined;
  readonly thresholdMs: number;
  /** Wall-clock milliseconds at which the last successful relist began. */
  readonly lastSeenAtMs: number | undefined;
  /** For how long a list call has been under way; undefined when none is. */
  readonly listInFlightMs: number | undefined;
  /** Pods whose inspection hangs or fails, longest first, at most 100. They do not make the node unhealthy. */
  readonly stuckPods: readonly StuckPod[];
  /** All of them. */
  readonly stuckPodCount: number;
}

/** What health follows from; ages and durations in milliseconds. */
export interface HealthFacts {
  readonly nowMs: number;
  readonly thresholdMs: number;
  /** Since the beginning of the last successful relist; undefined when there was none. */
  readonly lastSeenAgoMs: number | undefined;
  /** The threshold became shorter that long ago: the time before is only held against the longer one. */
  readonly thresholdAgeMs: number;
  /** The longest threshold that the mode ever has. */
  readonly longestThresholdMs: number;
  readonly listInFlightMs: number | undefined;
  readonly lastListError: string | undefined;
  /** See {@link Inspector.fruitlessMs}. */
  readonly fruitlessMs: number;
  readonly lastInspectionError: string | undefined;
  readonly stuckPods: readonly StuckPod[];
  readonly stuckPodCount: number;
}

/** Computes health from facts. Pure. */
export function computeHealth(facts: HealthFacts): PlegHealth {
  const { nowMs, thresholdMs, lastSeenAgoMs, listInFlightMs, stuckPods, stuckPodCount } = facts;
  const lastSeenAtMs = lastSeenAgoMs === undefined ? undefined : nowMs - lastSeenAgoMs;
  const common = { thresholdMs, lastSeenAtMs, listInFlightMs, stuckPods, stuckPodCount };
  if (lastSeenAgoMs === undefined) {
    return {
      ...common,
      healthy: false,
      message: 'pleg has yet to be successful',
      reason: { kind: 'neverSucceeded', sinceMs: undefined, error: facts.lastListError },
    };
  }
  const listOverdue =
    Math.min(lastSeenAgoMs, facts.thresholdAgeMs) > thresholdMs || lastSeenAgoMs > facts.longestThresholdMs;
  const inspectionsOverdue = facts.fruitlessMs > thresholdMs;
  if (!listOverdue && !inspectionsOverdue)
    return { ...common, healthy: true, message: undefined, reason: undefined };
  const agoMs = listOverdue ? lastSeenAgoMs : facts.fruitlessMs;
  return {
    ...common,
    healthy: false,
    message: `pleg was last seen active ${formatGoDuration(agoMs)} ago; threshold is ${formatGoDuration(thresholdMs)}`,
    reason: { ...whyOverdue(listOverdue, facts), sinceMs: nowMs - agoMs },
  };
}

/** Whether the first relist has neither succeeded nor failed yet: nothing is known of the health. */
export function isFirstRelistPending({ reason }: Pick<PlegHealth, 'reason'>): boolean {
  return reason?.kind === 'neverSucceeded' && reason.error === undefined;
}

function whyOverdue(listOverdue: boolean, facts: HealthFacts): Omit<UnhealthyReason, 'sinceMs'> {
  if (!listOverdue) return { kind: 'inspectionsFailing', error: facts.lastInspectionError };
  // A list that has been under way for a moment only is one more try of a failing series.
  const hanging = facts.listInFlightMs !== undefined && facts.listInFlightMs > 1_000;
  if (hanging) return { kind: 'listHanging', error: facts.lastListError };
  if (facts.lastListError === undefined) return { kind: 'notRelisting', error: undefined };
  return { kind: 'listFailing', error: facts.lastListError };
}
