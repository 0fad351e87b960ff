import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { type CallMeter, type CallTarget } from './facts/call-meter.js';
import { CallPlaces } from './facts/call-places.js';
import { groupBy } from './group-by.js';
import { type InspectionFacts } from './facts/runtime-facts.js';
import {
  type CallLimits,
  type ListedContainer,
  type ListedSandbox,
  type RuntimePort,
} from './runtime-port.js';
import { type PodCall, summarizeInspections } from './summarize-inspections.js';

/** Enough to be done with hundreds of pods soon, too few to be a burden. */
const AT_ONCE = 8;
const PLACE_LIMIT_MS = 1_000;
/** A runtime in which more hang than that has been understood. */
const MAX_OUTSIDE = 56;
/** After this long no further pod is asked for. */
const BUDGET_MS = 30_000;
/** Where so many hang, more of them say nothing new, and whoever asks wants to know it before the last one's time is over. */
const MANY_OUTSIDE = 8;
const HUNG_BUDGET_MS = 3_000;
/** So many calls go out one after another first: what a call takes while others run says little of a series. */
const SAMPLE_CALLS = 20;
const SAMPLE_BUDGET_MS = 3_000;
const SAMPLE_MOST_OUTSIDE = 2;

/** What {@link inspectPods} works with. */
export interface InspectPodsOptions {
  readonly runtime: RuntimePort;
  readonly meter: CallMeter;
  readonly clock: Clock;
  readonly limits: CallLimits;
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly ListedContainer[];
  /** Called with the progress. */
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
  const startedMs = clock.monotonicMs();
  const newPlaces = (atOnce: number): CallPlaces =>
    new CallPlaces({ clock, atOnce, placeLimitMs: PLACE_LIMIT_MS, mostOutside: MAX_OUTSIDE });
  const calls: PodCall[] = [];
  const sample: PodCall[] = [];
  const run = async (call: StatusCall, ofSample: boolean): Promise<void> => {
    const { target, send } = call;
    // Who aborts learns it below.
    await meter
      .run(target, limits.signal, send, (measured) => {
        const ofPod = { ...measured, pod: target.pod };
        calls.push(ofPod);
        if (ofSample) sample.push(ofPod);
      })
      .catch(() => undefined);
  };

  const inSeries = newPlaces(1);
  const done = new Set<StatusCall>();
  for (const call of pickEvenly(pods.flat(), SAMPLE_CALLS)) {
    if (limits.signal.aborted || clock.monotonicMs() - startedMs > SAMPLE_BUDGET_MS) break;
    if (inSeries.outside >= SAMPLE_MOST_OUTSIDE) break;
    done.add(call);
    await inSeries.send(() => run(call, true));
  }
  await inSeries.settle();

  const places = newPlaces(AT_ONCE);
  let asked = 0;
  for (const ofPod of pods) {
    const budgetMs = places.outside + inSeries.outside < MANY_OUTSIDE ? BUDGET_MS : HUNG_BUDGET_MS;
    if (limits.signal.aborted || clock.monotonicMs() - startedMs > budgetMs) break;
    for (const call of ofPod) if (!done.has(call)) await places.send(() => run(call, false));
    onProgress(++asked, pods.length);
  }
  await Promise.all([places.drain(), inSeries.drain()]);
  limits.signal.throwIfAborted();
  return summarizeInspections(calls, sample, {
    ...{ asked, pods: pods.length, calls: pods.reduce((sum, { length }) => sum + length, 0) },
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
