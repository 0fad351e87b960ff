import { type PodRef } from '#kube/pod/pod-ref.js';
import { type MeasuredCall } from './facts/call-meter.js';
import { groupBy } from './group-by.js';
import { percentileOf } from '#base/text/percentile.js';
import { type InspectionFacts, type SlowPod } from './facts/runtime-facts.js';

/** A measured call about a pod. */
export type PodCall = MeasuredCall & { readonly pod: PodRef };

/** How much was asked for. */
export interface InspectionExtent {
  /** Pods that were asked for, of all. */
  readonly asked: number;
  readonly pods: number;
  /** What it takes to ask for all of them. */
  readonly calls: number;
}

const MAX_NAMED = 10;
/** What is remembered of single calls that hang or fail. */
const MAX_CALLS = 200;
/** Failures that say nothing of a pod: it was removed while it was asked for, or the runtime was gone. */
const SAYS_NOTHING = ['CRI_NOT_FOUND', 'CRI_UNAVAILABLE', 'CRI_CANCELLED'];
/** A call that takes so much longer than most is one of an ill pod, and says nothing of what the others take. */
const OUTLIER_FACTOR = 10;

/**
 * Sums up what asking for the status of pods took. Pure.
 *
 * @param sample the calls that went out one after another; where none of them was answered, all calls stand for them,
 *   though beside one another they take rather longer.
 */
export function summarizeInspections(
  calls: readonly PodCall[],
  sample: readonly PodCall[],
  { asked, pods, calls: allCalls }: InspectionExtent,
): InspectionFacts {
  const answered = calls.filter(isAnswered);
  const answeredInSeries = sample.filter(isAnswered);
  const times = (answeredInSeries.length > 0 ? answeredInSeries : answered)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  const medianMs = percentileOf(times, 0.5);
  const failing = calls.filter(
    ({ outcome, code = '' }) => outcome === 'failed' && !SAYS_NOTHING.includes(code),
  );
  return {
    ...{ asked, pods, calls: calls.length, medianMs },
    inSeriesMs: estimateSeries(times, answered, allCalls),
    slowest: findSlowest(answered),
    hung: calls.filter(({ outcome }) => outcome === 'hung').slice(0, MAX_CALLS),
    failing: failing.slice(0, MAX_CALLS),
  };
}

const isAnswered = ({ outcome }: MeasuredCall): boolean => outcome === 'ok';

/** What all calls take one after another: what most take, and the few of ill pods as they are. */
function estimateSeries(times: readonly number[], answered: readonly PodCall[], allCalls: number): number {
  const mostMs = Math.max(1, percentileOf(times, 0.5)) * OUTLIER_FACTOR;
  const usual = times.filter((ms) => ms < mostMs);
  if (usual.length === 0) return 0;
  const outliers = answered.filter(({ ms }) => ms >= mostMs);
  const meanMs = usual.reduce((sum, ms) => sum + ms, 0) / usual.length;
  return meanMs * (allCalls - outliers.length) + outliers.reduce((sum, { ms }) => sum + ms, 0);
}

/** Pods by their slowest call: one call that takes seconds is an illness, many that add up to them are none. */
function findSlowest(answered: readonly PodCall[]): SlowPod[] {
  return [...groupBy(answered, ({ pod }) => pod.uid).values()]
    .map((ofPod) => {
      const { pod, method, container, ms } = ofPod.reduce((a, b) => (b.ms > a.ms ? b : a));
      return {
        ...{ pod, ms: ofPod.reduce((sum, call) => sum + call.ms, 0), calls: ofPod.length },
        slowestCall: { method, ...(container === undefined ? {} : { container }), ms },
      };
    })
    .sort((a, b) => b.slowestCall.ms - a.slowestCall.ms)
    .slice(0, MAX_NAMED);
}
