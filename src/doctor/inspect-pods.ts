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
/** So many calls go out one after another first: what a call takes while others run says little of a series. */
const SAMPLE_CALLS = 20;
const SAMPLE_BUDGET_MS = 3_000;
const MOST_NAMED = 10;
/** What is remembered of single calls that hang or fail. */
const MOST_CALLS = 200;
/** Failures that say nothing of a pod: it was removed while it was asked for, or the runtime was gone. */
const SAYS_NOTHING = ['CRI_NOT_FOUND', 'CRI_UNAVAILABLE', 'CRI_CANCELLED'];

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
 * Asks for the status of every sandbox and every container: of a few one call after another, as a kubelet does, then of
 * all others several at once. A call that hangs holds up no other one. Rejects only when the signal aborts.
 */
export async function inspectPods(options: InspectPodsOptions): Promise<InspectionFacts> {
  const { meter, clock, limits, onProgress } = options;
  const pods = toCalls(options);
  const before = meter.calls.length;
  const startedMs = clock.monotonicMs();
  const newPlaces = (atOnce: number): CallPlaces =>
    new CallPlaces({ clock, atOnce, placeLimitMs: PLACE_LIMIT_MS, mostOutside: MOST_OUTSIDE });
  // Who aborts learns it below.
  const run = ({ target, send }: StatusCall): Promise<unknown> =>
    meter.run(target, limits.signal, send).catch(() => undefined);

  const inSeries = newPlaces(1);
  const done = new Set<StatusCall>();
  for (const call of pickEvenly(pods.flat(), SAMPLE_CALLS)) {
    if (limits.signal.aborted || clock.monotonicMs() - startedMs > SAMPLE_BUDGET_MS) break;
    done.add(call);
    await inSeries.send(() => run(call));
  }
  await inSeries.settle();
  const sampleEnd = meter.calls.length;

  const places = newPlaces(AT_ONCE);
  let asked = 0;
  for (const calls of pods) {
    if (limits.signal.aborted || clock.monotonicMs() - startedMs > BUDGET_MS) break;
    for (const call of calls) if (!done.has(call)) await places.send(() => run(call));
    onProgress(++asked, pods.length);
  }
  await Promise.all([places.drain(), inSeries.drain()]);
  limits.signal.throwIfAborted();
  return summarize(meter.calls.slice(before), {
    ...{ asked, pods: pods.length },
    sample: meter.calls.slice(before, sampleEnd),
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

function pickEvenly<T>(items: readonly T[], most: number): T[] {
  const step = Math.max(1, items.length / most);
  return Array.from({ length: Math.min(most, items.length) }, (_, at) => items[Math.floor(at * step)]!);
}

interface Extent {
  /** The calls that went out one after another. */
  readonly sample: readonly MeasuredCall[];
  readonly asked: number;
  readonly pods: number;
  readonly allCalls: number;
}

function summarize(
  calls: readonly MeasuredCall[],
  { sample, asked, pods, allCalls }: Extent,
): InspectionFacts {
  const statusCalls = calls.filter(
    (call): call is MeasuredCall & { readonly pod: PodRef } => call.pod !== undefined,
  );
  const answered = statusCalls.filter(({ outcome }) => outcome === 'ok');
  const times = sample
    // Pings run beside it.
    .filter(({ pod, outcome }) => pod !== undefined && outcome === 'ok')
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
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
      .filter(({ outcome, code = '' }) => outcome === 'failed' && !SAYS_NOTHING.includes(code))
      .slice(0, MOST_CALLS),
  };
}
