import { type PodRef } from '../model/pod-ref.js';
import { type Clock } from '../util/clock.js';
import { type CallMeter, type CallTarget, type MeasuredCall } from './call-meter.js';
import { CallPlaces } from './call-places.js';
import { groupBy } from './group-by.js';
import { percentileOf } from './percentile.js';
import { type InspectionFacts } from './runtime-facts.js';
import {
  type CallLimits,
  type ListedContainer,
  type ListedSandbox,
  type RuntimePort,
} from './runtime-port.js';

/** Enough to be done with hundreds of pods soon, too few to be a burden. */
const AT_ONCE = 8;
const PLACE_LIMIT_MS = 1_000;
/** A runtime in which more hang than that has been understood. */
const MOST_OUTSIDE = 56;
/** After this long no further pod is asked for. */
const BUDGET_MS = 30_000;
const MOST_NAMED = 10;
/** What is remembered of single calls that hang or fail. */
const MOST_CALLS = 200;

/** What {@link inspectPods} works with. */
export interface InspectPodsOptions {
  readonly runtime: RuntimePort;
  readonly meter: CallMeter;
  readonly clock: Clock;
  readonly limits: CallLimits;
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly ListedContainer[];
  /** Is told how far it is. */
  readonly onProgress: (asked: number, pods: number) => void;
}

interface StatusCall {
  readonly target: CallTarget & { readonly pod: PodRef };
  readonly send: () => Promise<unknown>;
}

/**
 * Asks for the status of every sandbox and every container, as a kubelet does that has just started, but several at
 * once; a call that hangs holds up no other one. Rejects only when the signal aborts.
 */
export async function inspectPods(options: InspectPodsOptions): Promise<InspectionFacts> {
  const { meter, clock, limits, onProgress } = options;
  const pods = toCalls(options);
  const before = meter.calls.length;
  const startedMs = clock.monotonicMs();
  const places = new CallPlaces({
    ...{ clock, atOnce: AT_ONCE, placeLimitMs: PLACE_LIMIT_MS, mostOutside: MOST_OUTSIDE },
  });
  let asked = 0;
  for (const calls of pods) {
    if (limits.signal.aborted || clock.monotonicMs() - startedMs > BUDGET_MS) break;
    for (const { target, send } of calls) {
      // Whoever aborts learns it below.
      await places.send(() => meter.run(target, limits.signal, send).catch(() => undefined));
    }
    onProgress(++asked, pods.length);
  }
  await places.drain();
  limits.signal.throwIfAborted();
  return summarize(meter.calls.slice(before), {
    ...{ asked, pods: pods.length },
    allCalls: pods.reduce((sum, { length }) => sum + length, 0),
  });
}

/** The calls of each pod. */
function toCalls({ runtime, limits, sandboxes, containers }: InspectPodsOptions): StatusCall[][] {
  const containersOf = groupBy(containers, ({ sandboxId }) => sandboxId);
  const callsOf = ({ id, pod }: ListedSandbox): StatusCall[] => [
    { target: { method: 'PodSandboxStatus', pod }, send: () => runtime.sandboxStatus(id, limits) },
    ...(containersOf.get(id) ?? []).map((container) => ({
      target: { method: 'ContainerStatus', pod, container: container.name },
      send: () => runtime.containerStatus(container.id, limits),
    })),
  ];
  return [...groupBy(sandboxes, ({ pod }) => pod.uid).values()].map((ofPod) => ofPod.flatMap(callsOf));
}

interface Extent {
  readonly asked: number;
  readonly pods: number;
  readonly allCalls: number;
}

function summarize(calls: readonly MeasuredCall[], { asked, pods, allCalls }: Extent): InspectionFacts {
  const statusCalls = calls.filter(
    (call): call is MeasuredCall & { readonly pod: PodRef } => call.pod !== undefined,
  );
  const answered = statusCalls.filter(({ outcome }) => outcome === 'ok');
  const times = answered.map(({ ms }) => ms).sort((a, b) => a - b);
  const totalMs = times.reduce((sum, ms) => sum + ms, 0);
  const slowest = [...groupBy(answered, ({ pod }) => pod.uid).values()]
    .map((ofPod) => ({
      pod: ofPod[0]!.pod,
      ms: ofPod.reduce((sum, { ms }) => sum + ms, 0),
      calls: ofPod.length,
    }))
    .sort((a, b) => b.ms - a.ms);
  return {
    ...{ asked, pods, calls: statusCalls.length },
    medianMs: percentileOf(times, 0.5),
    inSeriesMs: times.length === 0 ? 0 : (totalMs / times.length) * allCalls,
    slowest: slowest.slice(0, MOST_NAMED),
    hung: statusCalls.filter(({ outcome }) => outcome === 'hung').slice(0, MOST_CALLS),
    failing: statusCalls
      // It was removed while it was asked for.
      .filter(({ outcome, code }) => outcome === 'failed' && code !== 'CRI_NOT_FOUND')
      .slice(0, MOST_CALLS),
  };
}
