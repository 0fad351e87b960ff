import {
  type ObservedPod,
  type ObservedState,
  Pleg,
  type PodLifecycleEvent,
  type Subscription,
} from '#watch';
import { type PlegOptions } from '../../../src/watch/pleg/pleg-options.js';
import { aContainer, aPod, aSandbox } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime, type FakeRuntimeOptions } from '#testing/fake-runtime.js';

/** An event generator on a fake runtime and a fake clock, with one subscriber. */
export interface PlegHarness {
  readonly clock: FakeClock;
  readonly runtime: FakeRuntime;
  readonly pleg: Pleg;
  readonly events: Subscription;
  /** Lets the generator run from now on; the returned function ends that, and waits for the end. */
  readonly start: () => () => Promise<void>;
}

/** No turn of the event loop, which a fake clock counts, for each of hundreds of pods: a fake runtime sends nothing. */
const yieldToLoop = async (): Promise<void> => Promise.resolve();

/** Sets up a generator (default mode: `generic`); it has not relisted yet. */
export function setUpPleg(
  options: Partial<PlegOptions> = {},
  runtimeOptions: Omit<FakeRuntimeOptions, 'clock'> = {},
  clock = new FakeClock(),
): PlegHarness {
  const runtime = new FakeRuntime({ clock, ...runtimeOptions });
  const pleg = new Pleg({ runtime, clock, mode: 'generic', random: () => 0.5, yieldToLoop, ...options });
  return {
    clock,
    runtime,
    pleg,
    events: pleg.subscribe(),
    start: () => {
      const stopping = new AbortController();
      const running = pleg.run(stopping.signal);
      return async () => {
        stopping.abort(new Error('the test is over'));
        await running;
      };
    },
  };
}

/** A pod of which a test names uid, containers and, if they matter, sandboxes: each id is its name, too. */
export function podOf(
  uid: string,
  containers: Readonly<Record<string, ObservedState>>,
  sandboxes: Readonly<Record<string, ObservedState>> = {},
): ObservedPod {
  return aPod({
    uid,
    name: uid,
    sandboxes: Object.entries(sandboxes).map(([id, state]) => aSandbox({ id, name: uid, state })),
    containers: Object.entries(containers).map(([id, state]) => aContainer({ id, name: id, state })),
  });
}

/** Takes every event that waits. */
export function takeAll(events: Subscription): PodLifecycleEvent[] {
  const taken: PodLifecycleEvent[] = [];
  for (let event = events.take(); event !== undefined; event = events.take()) taken.push(event);
  return taken;
}

/** An event in one line: `type pod container`. */
export function lineOf(event: PodLifecycleEvent): string {
  const pod = 'pod' in event ? event.pod.uid : '*';
  return `${event.type} ${pod}${'containerId' in event ? ` ${event.containerId}` : ''}`;
}

/** Takes every event that waits, as lines, sorted: no order across pods is promised. */
export function drain(events: Subscription): string[] {
  return takeAll(events).map(lineOf).sort();
}

/** Whole numbers from the first up to the last, which is not among them. */
export const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);

/** A node of pods p0, p1 … of three running containers each (p0-a, p0-b, p0-c), told of; its generator runs. */
export async function nodeOf(
  pods: number,
  options: Partial<PlegOptions> = {},
): Promise<PlegHarness & { readonly stop: () => Promise<void> }> {
  const h = setUpPleg({ queueCapacity: 10_000, ...options });
  h.runtime.setPods(
    numbers(0, pods).map((i) =>
      podOf(`p${i}`, { [`p${i}-a`]: 'running', [`p${i}-b`]: 'running', [`p${i}-c`]: 'running' }),
    ),
  );
  const stop = h.start();
  await h.clock.settle();
  const told = drain(h.events).length;
  if (told !== 3 * pods) throw new Error(`${told} events instead of ${3 * pods}`);
  return { ...h, stop };
}
