/**
 * What a rules file says, once it has been read.
 *
 * @module
 */

/** The kinds of a container event, by CRI's own names in short. */
export const EVENT_KINDS = ['created', 'started', 'stopped', 'deleted'] as const;
/** One of {@link EVENT_KINDS}. */
export type EventKind = (typeof EVENT_KINDS)[number];

/** Which calls or events a rule is about: those that meet every given condition. */
export interface RuleMatch {
  /** Method names, short (`ContainerStatus`) or full (`/runtime.v1.RuntimeService/ContainerStatus`). */
  readonly methods?: readonly string[];
  /** `namespace/name`, name or uid. */
  readonly pods?: readonly string[];
  /** Name, or id: whole, or its first twelve characters at least. */
  readonly containers?: readonly string[];
  /** Kinds of events. */
  readonly events?: readonly EventKind[];
  /** The share that is hit, by chance, 0 to 1. */
  readonly share?: number;
  /** Not before this many milliseconds after the rules were read. */
  readonly afterMs?: number;
  /** No more from then on. */
  readonly untilMs?: number;
  /** Only the n-th one, counted from 1. */
  readonly nth?: number;
  /** Every n-th one. */
  readonly every?: number;
}

/** Whether the runtime never gets the request, or does as asked and its answer is hit. */
export type FaultPlace = 'request' | 'answer';

/** What a runtime says of itself in the answer to Status. */
export const RUNTIME_CONDITIONS = ['NetworkReady', 'RuntimeReady'] as const;
/** One of {@link RUNTIME_CONDITIONS}. */
export type RuntimeConditionName = (typeof RUNTIME_CONDITIONS)[number];

/** What is done to a call, to an answer that is a list, to an event, or to all connections. */
export type Fault =
  | { readonly type: 'delay'; readonly forMs: number; readonly jitterMs: number; readonly at: FaultPlace }
  | { readonly type: 'error'; readonly code: number; readonly message: string; readonly at: FaultPlace }
  | { readonly type: 'hang'; readonly at: FaultPlace }
  | { readonly type: 'reset' }
  | { readonly type: 'outage' }
  | { readonly type: 'truncate-list'; readonly keep: number }
  | { readonly type: 'stale-list'; readonly behind: number }
  | { readonly type: 'grow-list'; readonly toBytes: number }
  | { readonly type: 'not-ready'; readonly condition: RuntimeConditionName; readonly message: string }
  | { readonly type: 'drop-events' }
  | { readonly type: 'duplicate-events'; readonly copies: number }
  | { readonly type: 'delay-events'; readonly forMs: number; readonly jitterMs: number }
  | { readonly type: 'reorder-events'; readonly among: number; readonly waitMs: number }
  | { readonly type: 'end-stream'; readonly code: number; readonly openForMs: number | undefined };

/** The word by which a rules file asks for a fault. */
export type FaultType = Fault['type'];

/** One rule of a rules file. */
export interface Rule {
  readonly name: string;
  readonly match: RuleMatch;
  readonly fault: Fault;
}

/** Faults of single events of GetContainerEvents. */
const EVENT_FAULTS: ReadonlySet<FaultType> = new Set([
  'drop-events',
  'duplicate-events',
  'delay-events',
  'reorder-events',
  'end-stream',
]);

/** Faults of answers that are lists; `pods` and `containers` choose among the items. */
const LIST_FAULTS: ReadonlySet<FaultType> = new Set(['truncate-list', 'stale-list', 'grow-list']);

/** Whether it is a fault of what comes on the event stream. */
export function isEventFault(type: FaultType): boolean {
  return EVENT_FAULTS.has(type);
}

/** Whether it is a fault of answers that are lists. */
export function isListFault(type: FaultType): boolean {
  return LIST_FAULTS.has(type);
}

/** Whether it changes the content of an answer, which is then buffered as a whole. */
export function changesAnswer(type: FaultType): boolean {
  return isListFault(type) || type === 'not-ready';
}

/** Whether it is the answer that is hit, so that it has to be held until it is known what becomes of it. */
export function hitsAnswer(fault: Fault): boolean {
  return changesAnswer(fault.type) || ('at' in fault && fault.at === 'answer');
}
