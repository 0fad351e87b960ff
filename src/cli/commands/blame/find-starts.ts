import { type HistoryRecord } from '../../shared/history/history-reader.js';

/** What a pod or one of its containers did until it was ready. */
export type StartStep =
  | 'admission'
  | 'volumes'
  | 'sandbox'
  | 'pull'
  | 'create'
  | 'start'
  | 'init'
  | 'startup-probe'
  | 'readiness-probe';

/** A part of the start of a pod. Parts of several containers may overlap. */
export interface StepSpan {
  readonly step: StartStep;
  /** Absent if it is about the whole pod. */
  readonly container?: string;
  /** Wall-clock milliseconds. */
  readonly fromMs: number;
  readonly durationMs: number;
  /** Whether it has not ended; {@link durationMs} is how long it has lasted. */
  readonly isOpen: boolean;
}

/** The newest start of a pod. */
export interface PodStart {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly fromMs: number;
  /** Until the last of its steps ended. */
  readonly durationMs: number;
  /** The longest first. */
  readonly steps: readonly StepSpan[];
}

/** A call of the runtime, in wall-clock milliseconds. */
interface Call {
  readonly method: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Computes the newest start of each pod from the records of a history, in their order; the slowest pod comes first.
 *
 * What no record shows is left out: a start before the oldest record, or one that an older agent recorded without the
 * times of its calls.
 */
export function findStarts(records: Iterable<HistoryRecord>, nowMs: number): PodStart[] {
  const byPod = new Map<string, HistoryRecord[]>();
  for (const record of records) {
    if (record.pod === undefined) continue;
    const known = byPod.get(record.pod.uid) ?? [];
    known.push(record);
    byPod.set(record.pod.uid, known);
  }
  return [...byPod.values()]
    .flatMap((own) => findStart(own, nowMs) ?? [])
    .sort((a, b) => b.durationMs - a.durationMs);
}

function findStart(all: readonly HistoryRecord[], nowMs: number): PodStart | undefined {
  const { uid, namespace, name } = all.at(-1)!.pod!;
  const arrived = all.findLast(({ details }) => details?.['arrivedAtMs'] !== undefined);
  const arrivedAtMs = Number(arrived?.details?.['arrivedAtMs'] ?? 0);
  const records = all
    .map((record) => ofThisStart(record, arrivedAtMs))
    .filter((record) => beginOf(record) >= arrivedAtMs);
  const steps = [
    ...podSteps(records, arrived),
    ...containersOf(records).flatMap((container) => containerSteps(records, container, nowMs)),
  ];
  if (steps.length === 0) return undefined;
  const fromMs = Math.min(...steps.map((step) => step.fromMs));
  const toMs = Math.max(...steps.map((step) => step.fromMs + step.durationMs));
  steps.sort((a, b) => b.durationMs - a.durationMs);
  return { uid, namespace, name, fromMs, durationMs: toMs - fromMs, steps };
}

/** An event that earlier starts had, too, has its first time from them. */
function ofThisStart(record: HistoryRecord, arrivedAtMs: number): HistoryRecord {
  const { kind, atMs } = record;
  const isRepeat = kind === 'event' && firstOf(record) < arrivedAtMs && arrivedAtMs <= atMs;
  return isRepeat ? { ...record, firstAtMs: atMs } : record;
}

/** The steps that no container has for itself. */
function podSteps(records: readonly HistoryRecord[], arrived: HistoryRecord | undefined): StepSpan[] {
  const calls = records.flatMap(callsOf);
  const createdAtMs = records.find(isEvent('Created'))?.atMs ?? Infinity;
  // A sandbox that is made after that is another one.
  const runs = calls.filter(({ method, fromMs }) => method === 'RunPodSandbox' && fromMs <= createdAtMs);
  const [first] = runs;
  if (first === undefined) return [];
  const sandbox = span('sandbox', first.fromMs, runs.at(-1)!.toMs);
  if (arrived === undefined) return [sandbox];
  const arrivedAtMs = Number(arrived.details?.['arrivedAtMs']);
  const workedAtMs = Number(arrived.details?.['workedAtMs']);
  return [span('admission', arrivedAtMs, workedAtMs), span('volumes', workedAtMs, first.fromMs), sandbox];
}

/** Each step counts once: what comes after the first start of a container is a restart. */
function containerSteps(records: readonly HistoryRecord[], container: string, nowMs: number): StepSpan[] {
  const own = records.filter((record) => record.container === container);
  const find = (matches: (record: HistoryRecord) => boolean, fromMs = 0): HistoryRecord | undefined =>
    own.find((record) => matches(record) && atMsOf(record) >= fromMs);
  const pulling = find(isEvent('Pulling'));
  const created = find(isEvent('Created'));
  // Each attempt to create the container says that the image is there: the first one ends the pull.
  const pulled = own.find(
    (record) => isEvent('Pulled')(record) && firstOf(record) <= (created?.atMs ?? nowMs),
  );
  const pulledAtMs = pulled === undefined ? nowMs : firstOf(pulled);
  const started = find(isEvent('Started'), created?.atMs);
  const steps: StepSpan[] = [];
  if (pulling !== undefined) {
    const pull = span('pull', firstOf(pulling), pulledAtMs, container);
    steps.push({ ...pull, isOpen: pulled === undefined });
  }
  if (pulled !== undefined) {
    const create = span('create', pulledAtMs, created?.atMs ?? nowMs, container);
    steps.push({ ...create, isOpen: created === undefined });
  }
  if (started === undefined) return steps;
  if (created !== undefined) steps.push(span('start', created.atMs, started.atMs, container));
  const startedAtMs = started.atMs;
  if (started.fieldPath?.startsWith('spec.initContainers') === true) {
    const died = find(({ kind, reason }) => kind === 'lifecycle' && reason === 'ContainerDied', startedAtMs);
    if (died?.details?.['exitCode'] === 0) steps.push(span('init', startedAtMs, atMsOf(died), container));
  }
  const startup = find(isProbe('StartupSucceeded'), startedAtMs);
  if (startup !== undefined) steps.push(span('startup-probe', startedAtMs, startup.atMs, container));
  const ready = find(isProbe('ReadinessSucceeded'), startedAtMs);
  if (ready !== undefined)
    steps.push(span('readiness-probe', startup?.atMs ?? startedAtMs, ready.atMs, container));
  return steps;
}

/** In the order in which they come up; those of `kubectl debug` are no part of a start. */
function containersOf(records: readonly HistoryRecord[]): string[] {
  const names = records.flatMap(({ kind, container, fieldPath }) =>
    kind !== 'event' || fieldPath?.startsWith('spec.ephemeralContainers') === true ? [] : (container ?? []),
  );
  return [...new Set(names)];
}

const isEvent =
  (wanted: string) =>
  ({ kind, reason }: HistoryRecord): boolean =>
    kind === 'event' && reason === wanted;

const isProbe =
  (wanted: string) =>
  ({ kind, reason }: HistoryRecord): boolean =>
    kind === 'probe' && reason === wanted;

/** An event that repeats is one record. */
const firstOf = ({ atMs, firstAtMs = atMs }: HistoryRecord): number => firstAtMs;

/** A sync is recorded at its end, an event that repeats at the last of them. */
function beginOf({ atMs, firstAtMs = atMs, details }: HistoryRecord): number {
  const workMs = Number(details?.['durationMs'] ?? 0);
  return Math.max(Math.min(firstAtMs, atMs - workMs), Number(details?.['arrivedAtMs'] ?? 0));
}

/** When it happened, if the runtime says so, and else when it was recorded. */
function atMsOf({ atMs, details }: HistoryRecord): number {
  const occurredAtMs = Date.parse(String(details?.['occurredAt'] ?? ''));
  return Number.isNaN(occurredAtMs) ? atMs : occurredAtMs;
}

function callsOf({ kind, details }: HistoryRecord): Call[] {
  const { calls, callTimes } = details ?? {};
  if (kind !== 'sync' || !Array.isArray(calls) || !Array.isArray(callTimes)) return [];
  return (calls as readonly string[]).map((method, at) => {
    const [fromMs = 0, tookMs = 0] = String(callTimes[at]).split('+').map(Number);
    return { method, fromMs, toMs: fromMs + tookMs };
  });
}

function span(step: StartStep, fromMs: number, toMs: number, container?: string): StepSpan {
  // A clock that was set back must not show a negative time.
  const durationMs = Math.max(0, toMs - fromMs);
  return { step, ...(container === undefined ? {} : { container }), fromMs, durationMs, isOpen: false };
}
