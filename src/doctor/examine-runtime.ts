import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Clock } from '#base/time/clock.js';
import { CallMeter, type CallUnderWay, type MeasuredCall } from './facts/call-meter.js';
import { ConnectionWatch } from './facts/connection-watch.js';
import { EventWitness, type ListedNode, sendsToEveryReader } from './facts/event-witness.js';
import { inspectPods } from './inspect-pods.js';
import { known, type Looked, notKnown } from './looked.js';
import { percentileOf } from '#base/text/percentile.js';
import { type EventFacts, type LargePod, type ListFacts, type RuntimeFacts } from './facts/runtime-facts.js';
import {
  type CallLimits,
  type ImageFilesystem,
  type ListAnswer,
  type ListedContainer,
  type ListedSandbox,
  type MeasuredPart,
  type RuntimeCondition,
  type RuntimePort,
} from './runtime-port.js';
import { summarizePopulation } from './summarize-population.js';

/** When the runtime's events are read: where every reader gets all of them, or also where nobody knows; or not at all. */
export type EventReading = 'auto' | 'always' | 'never';

/** What {@link examineRuntime} works with. */
export interface ExamineRuntimeOptions {
  readonly runtime: RuntimePort;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** After how long a call counts as hung. */
  readonly timeoutMs: number;
  /** For how long it is watched at least. */
  readonly watchMs: number;
  readonly events: EventReading;
  readonly onProgress?: ((progress: RuntimeProgress) => void) | undefined;
}

/** How far the examination of a runtime is. */
export interface RuntimeProgress {
  readonly step: 'connecting' | 'listing' | 'inspecting' | 'watching';
  readonly asked?: number;
  readonly pods?: number;
  /** What has not been answered yet, oldest first. */
  readonly underWay: readonly CallUnderWay[];
}

/** What an examination gives: the facts, and what others need to examine the same node. */
export interface RuntimeExamination {
  readonly facts: RuntimeFacts;
  /** What was there at the begin and at the end; undefined when it could not be listed. */
  readonly firstLists: ListedNode | undefined;
  readonly lastLists: ListedNode | undefined;
  readonly imageFilesystems: Looked<readonly ImageFilesystem[]>;
}

const LIST_ROUNDS = 3;
const TICK_MS = 500;
const MAX_LARGEST = 5;
/** Of a list that is refused as a whole. */
const MAX_PARTS = 500;
const TOO_LARGE = 'CRI_RESOURCE_EXHAUSTED';
const LISTS = ['ListPodSandbox', 'ListContainers'] as const;

/**
 * Measures a container runtime with calls that only read. Each has a deadline, at most 64 are under way at once, and
 * it takes no event away from anybody. Rejects only when the signal aborts.
 */
export async function examineRuntime(options: ExamineRuntimeOptions): Promise<RuntimeExamination> {
  const { runtime, clock, signal, timeoutMs, watchMs, events, onProgress } = options;
  const limits: CallLimits = { signal, timeoutMs };
  const connection = new ConnectionWatch({ runtime, clock });
  onProgress?.({ step: 'connecting', underWay: [] });
  const found = await connection.connect(watchMs, limits);
  if (found === undefined) return notConnected(runtime, connection);
  const { name, version } = found;

  const meter = new CallMeter(clock);
  let progress: Omit<RuntimeProgress, 'underWay'> = { step: 'listing' };
  const reportAgain = (): void => onProgress?.({ ...progress, underWay: meter.underWay() });
  const report = (step: RuntimeProgress['step'], how?: { asked: number; pods: number }): void => {
    progress = { step, ...how };
    reportAgain();
  };
  // While something hangs, nothing else says so.
  const ticker = startTicker(clock, reportAgain);

  const watched = linkAbort(signal);
  const startedMs = clock.monotonicMs();
  const pinging = connection.ping(meter, { ...limits, signal: watched.signal });
  const witness = whyNoEvents(events, name, version) === undefined ? new EventWitness(clock) : undefined;
  try {
    await witness?.open(runtime, signal);
    report('listing');
    const rounds = new ListRounds(runtime, meter, limits);
    const [, conditions, imageFilesystems] = await Promise.all([
      rounds.run(),
      meter.run({ method: 'Status' }, signal, () => runtime.status(limits)),
      meter.run({ method: 'ImageFsInfo' }, signal, () => runtime.imageFilesystems(limits)),
      // Images have locks of their own: they can hang while pods are listed as ever.
      ...(runtime.listImages === undefined
        ? []
        : [meter.run({ method: 'ListImages' }, signal, () => runtime.listImages!(limits))]),
      // The pings end with the examination, and one that hangs shows only when its time is over.
      meter.run({ method: 'Version' }, signal, () => runtime.version(limits)),
    ]);
    const before = rounds.whole;
    report('inspecting');
    const inspections =
      before === undefined
        ? notKnown('the pods could not be listed')
        : known(
            await inspectPods({
              ...{ runtime, meter, clock, limits, ...before },
              onProgress: (asked, pods) => report('inspecting', { asked, pods }),
            }),
          );
    report('watching');
    while (before !== undefined && rounds.count < LIST_ROUNDS - 1) await rounds.run();
    await clock.sleep(Math.max(0, watchMs - (clock.monotonicMs() - startedMs)), signal);
    if (before !== undefined) await rounds.run();
    const after = rounds.whole;
    await rounds.measureParts(clock);
    const facts: RuntimeFacts = {
      ...{ endpoint: runtime.endpoint, name, version },
      connection: connection.facts,
      conditions: conditionsOf(conditions),
      operations: meter.operations(),
      lists: rounds.facts(),
      population:
        before === undefined
          ? notKnown('the pods could not be listed')
          : known(summarizePopulation(before.sandboxes, before.containers, clock.now(), after?.sandboxes)),
      inspections,
      events: await judgeEvents(witness, { before, after, why: whyNoEvents(events, name, version), signal }),
    };
    return {
      facts,
      ...{ firstLists: before, lastLists: after },
      imageFilesystems:
        imageFilesystems === undefined ? notKnown('ImageFsInfo failed') : known(imageFilesystems),
    };
  } finally {
    ticker.cancel();
    watched.abort();
    watched.unlink();
    meter.stop();
    await pinging;
    await witness?.close();
  }
}

function startTicker(clock: Clock, tick: () => void): { cancel(): void } {
  let timer = clock.setTimer(TICK_MS, onTick);
  function onTick(): void {
    tick();
    timer = clock.setTimer(TICK_MS, onTick);
  }
  return { cancel: () => timer.cancel() };
}

function conditionsOf(
  conditions: readonly RuntimeCondition[] | undefined,
): Looked<readonly RuntimeCondition[]> {
  return conditions === undefined ? notKnown('Status failed') : known(conditions);
}

function notConnected(runtime: RuntimePort, connection: ConnectionWatch): RuntimeExamination {
  const nothing = notKnown('the runtime was not reached');
  const facts: RuntimeFacts = {
    ...{ endpoint: runtime.endpoint, connection: connection.facts, name: '', version: '' },
    ...{ conditions: nothing, operations: [], lists: [] },
    ...{ population: nothing, inspections: nothing, events: nothing },
  };
  return { facts, firstLists: undefined, lastLists: undefined, imageFilesystems: nothing };
}

/** Why the events of that runtime are not read; undefined when they are. */
function whyNoEvents(events: EventReading, name: string, version: string): string | undefined {
  if (events === 'never') return 'reading events is switched off';
  const everyReader = sendsToEveryReader(name, version);
  if (everyReader === false)
    return `${name} ${version} gives each event to one reader alone, and to read them is to take them from others`;
  if (everyReader === undefined && events === 'auto')
    return `nobody knows whether ${name} ${version} gives every event to every reader`;
  return undefined;
}

interface EventQuestion {
  readonly before: ListedNode | undefined;
  readonly after: ListedNode | undefined;
  readonly why: string | undefined;
  readonly signal: AbortSignal;
}

async function judgeEvents(
  witness: EventWitness | undefined,
  { before, after, why, signal }: EventQuestion,
): Promise<Looked<EventFacts>> {
  if (witness === undefined) return notKnown(why ?? 'events were not read');
  if (before === undefined || after === undefined) return notKnown('the pods could not be listed');
  return known(await witness.testify(before, after, signal));
}

/** The pods with the largest shares of a list; nothing where shares were not measured. */
function findLargest(
  items: readonly {
    readonly pod: PodRef | undefined;
    readonly bytes?: number | undefined;
    readonly items?: number;
  }[],
): Pick<ListFacts, 'largest'> {
  const byPod = new Map<string, LargePod>();
  for (const { pod, bytes, items: count = 1 } of items) {
    if (pod === undefined || bytes === undefined) continue;
    const before = byPod.get(formatPod(pod)) ?? { pod, bytes: 0, items: 0 };
    byPod.set(formatPod(pod), { pod, bytes: before.bytes + bytes, items: before.items + count });
  }
  const largest = [...byPod.values()].sort((a, b) => b.bytes - a.bytes).slice(0, MAX_LARGEST);
  return largest.length === 0 ? {} : { largest };
}

/** Both lists, several times. */
class ListRounds {
  readonly #runtime: RuntimePort;
  readonly #meter: CallMeter;
  readonly #limits: CallLimits;
  #sandboxes: ListAnswer<ListedSandbox> | undefined;
  #containers: ListAnswer<ListedContainer> | undefined;
  readonly #parts = new Map<string, readonly MeasuredPart[]>();
  #count = 0;

  constructor(runtime: RuntimePort, meter: CallMeter, limits: CallLimits) {
    this.#runtime = runtime;
    this.#meter = meter;
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Of the last round, when both came. */
  get whole(): ListedNode | undefined {
    if (this.#sandboxes === undefined || this.#containers === undefined) return undefined;
    return { sandboxes: this.#sandboxes.items, containers: this.#containers.items };
  }

  async run(): Promise<void> {
    this.#count++;
    const { signal } = this.#limits;
    [this.#sandboxes, this.#containers] = await Promise.all([
      this.#meter.run({ method: 'ListPodSandbox' }, signal, () => this.#runtime.listSandboxes(this.#limits)),
      this.#meter.run({ method: 'ListContainers' }, signal, () => this.#runtime.listContainers(this.#limits)),
    ]);
  }

  /** Where a list is refused as a whole, finds out whose part of it is large, one sandbox after another and for as long as a call may take. */
  async measureParts(clock: Clock): Promise<void> {
    const { signal, timeoutMs } = this.#limits;
    const untilMs = clock.monotonicMs() + timeoutMs;
    for (const method of LISTS) {
      if (this.#lastFailureOf(method)?.code !== TOO_LARGE) continue;
      const ids = (this.#sandboxes?.items ?? []).map(({ id }) => id);
      const others = (this.#containers?.items ?? []).map(({ sandboxId }) => sandboxId);
      const parts: MeasuredPart[] = [];
      for (const id of [...new Set([...ids, ...others])].slice(0, MAX_PARTS)) {
        const leftMs = untilMs - clock.monotonicMs();
        if (leftMs <= 0) break;
        const measuring = this.#runtime.measurePart(method, id, { signal, timeoutMs: leftMs });
        const part = await measuring.catch(() => undefined);
        signal.throwIfAborted();
        const pod = part?.pod ?? this.#sandboxes?.items.find((each) => each.id === id)?.pod;
        if (part !== undefined) parts.push({ ...part, pod });
      }
      this.#parts.set(method, parts);
    }
  }

  facts(): ListFacts[] {
    const sandboxes = this.#sandboxes?.items ?? [];
    const podOf = new Map(sandboxes.map(({ id, pod }) => [id, pod]));
    const containers = (this.#containers?.items ?? []).map(({ sandboxId, bytes }) => ({
      ...{ pod: podOf.get(sandboxId), bytes },
    }));
    const largestOf = (
      method: string,
      items: Parameters<typeof findLargest>[0],
    ): Pick<ListFacts, 'largest'> => findLargest(this.#parts.get(method) ?? items);
    return [
      {
        ...this.#factsOf('ListPodSandbox', this.#sandboxes),
        ...largestOf('ListPodSandbox', sandboxes),
      },
      { ...this.#factsOf('ListContainers', this.#containers), ...largestOf('ListContainers', containers) },
    ];
  }

  #lastFailureOf(method: string): MeasuredCall | undefined {
    return this.#meter.calls.findLast((call) => call.method === method && call.outcome === 'failed');
  }

  #factsOf(method: string, last: ListAnswer<unknown> | undefined): ListFacts {
    const calls = this.#meter.calls.filter((call) => call.method === method);
    const failed = this.#lastFailureOf(method);
    const times = calls.filter(({ outcome }) => outcome === 'ok').map(({ ms }) => ms);
    return {
      ...{ method, calls: calls.length, hung: calls.filter(({ outcome }) => outcome === 'hung').length },
      p50Ms: percentileOf(
        times.sort((a, b) => a - b),
        0.5,
      ),
      ...(last === undefined ? {} : { bytes: last.bytes, items: last.items.length }),
      ...(failed === undefined ? {} : { error: failed.error ?? '', code: failed.code ?? '' }),
    };
  }
}
