import { formatGoDuration } from '#base/time/go-duration.js';
import { type StuckPod } from './stuck-pods.js';

/** Why the generator is unhealthy. */
export interface UnhealthyReason {
  readonly kind:
    | 'neverSucceeded'
    /** A list call has not been answered yet. */
    | 'listHanging'
    /** The list calls fail. */
    | 'listFailing'
    /** No relist was started: the generator is not running. */
    | 'notRelisting'
    /** The lists are answered, but status calls are not, for pods due or not. */
    | 'inspectionsFailing';
  /** Wall-clock milliseconds of the last success; undefined if there was none. */
  readonly sinceMs: number | undefined;
  /** The last error; undefined if the call just hangs. */
  readonly error: string | undefined;
}

/** The health of the generator. */
export interface PlegHealth {
  readonly healthy: boolean;
  /**
   * Set when unhealthy, in the kubelet's words: "pleg has yet to be successful", "pleg was last seen active
   * 3m5s ago; threshold is 3m0s".
   */
  readonly message: string | undefined;
  readonly reason: UnhealthyReason | undefined;
  readonly thresholdMs: number;
  /** Wall-clock milliseconds at which the last successful relist began. */
  readonly lastSeenAtMs: number | undefined;
  /** How long the present list call has been running; undefined if there is none. */
  readonly listInFlightMs: number | undefined;
  /**
   * Pods whose inspection hangs or fails, longest first, at most 100. They do not make the node unhealthy.
   */
  readonly stuckPods: readonly StuckPod[];
  /** How many there are in total. */
  readonly stuckPodCount: number;
}

/** The input of health; ages and durations in milliseconds. */
export interface HealthFacts {
  readonly nowMs: number;
  readonly thresholdMs: number;
  /** Since the beginning of the last successful relist; undefined if there was none. */
  readonly lastSeenAgoMs: number | undefined;
  /**
   * How long ago the threshold became shorter: time before that is only compared with the longest threshold.
   */
  readonly thresholdAgeMs: number;
  /** The longest threshold that the mode can have. */
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

/** Whether the first relist has neither succeeded nor failed yet, so that the health is unknown. */
export function isFirstRelistPending({ reason }: Pick<PlegHealth, 'reason'>): boolean {
  return reason?.kind === 'neverSucceeded' && reason.error === undefined;
}

function whyOverdue(listOverdue: boolean, facts: HealthFacts): Omit<UnhealthyReason, 'sinceMs'> {
  if (!listOverdue) return { kind: 'inspectionsFailing', error: facts.lastInspectionError };
  // A list call that has only just started is one more attempt of a failing series.
  const hanging = facts.listInFlightMs !== undefined && facts.listInFlightMs > 1_000;
  if (hanging) return { kind: 'listHanging', error: facts.lastListError };
  if (facts.lastListError === undefined) return { kind: 'notRelisting', error: undefined };
  return { kind: 'listFailing', error: facts.lastListError };
}
