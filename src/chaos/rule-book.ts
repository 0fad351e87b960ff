import { setMaxListeners } from 'node:events';
import { type Clock, type ClockTimer } from '../util/clock.js';
import { EVENTS_METHOD, isCri, isList, shortMethod } from './cri-method.js';
import { type KnownId } from './pod-directory.js';
import { type EventKind, hitsAnswer, isEventFault, isListFault, type Rule } from './rule.js';
import { createSeededRandom } from './seeded-random.js';

/** What a call or an event is about, as far as that is known. */
export interface Subject {
  readonly method: string;
  readonly path: string;
  readonly containerId?: string;
  readonly sandboxId?: string;
  /** Looked up only when a rule asks. */
  readonly known?: () => KnownId | undefined;
  readonly eventKind?: EventKind;
}

/** A rule, and what it has seen since it was read. */
export interface ActiveRule {
  readonly rule: Rule;
  /** In [0, 1), for the rule alone; the same for the same seed. */
  readonly random: () => number;
  /** Aborts when the rule is no longer in the file. */
  readonly withdrawn: AbortSignal;
}

interface RuleState extends ActiveRule {
  readonly controller: AbortController;
  readonly methods: ReadonlySet<string> | undefined;
  seen: number;
}

export interface RuleBookOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** An outage begins: it hits all connections at once. */
  readonly onOutage: (active: ActiveRule) => void;
}

/** What the rules may do with calls of a method. */
export interface RuleConcerns {
  /** Whether a rule could be about one, now or later. */
  readonly request: boolean;
  /** Whether a rule could hit an answer. */
  readonly answer: boolean;
  /** How many answers have to be remembered. */
  readonly answersKept: number;
}

const SHORTEST_ID_PART = 12;

/**
 * The rules in force, and which of them hits what comes next.
 *
 * The rules are asked in the order of the file, and the first one that hits is the one. A rule counts what it is
 * about (`nth`, `every`) as long as no rule before it has hit. Counts, times and chance begin anew when rules are read.
 */
export class RuleBook {
  readonly #options: RuleBookOptions;
  #states: RuleState[] = [];
  #readAtMs = 0;
  #timers: ClockTimer[] = [];

  constructor(options: RuleBookOptions) {
    this.#options = options;
  }

  get rules(): readonly Rule[] {
    return this.#states.map(({ rule }) => rule);
  }

  /** Whether a rule names pods, or containers, of which requests tell the id only. */
  get needsNames(): boolean {
    return this.#states.some(
      ({ rule: { match } }) => match.pods !== undefined || match.containers !== undefined,
    );
  }

  /** Puts these in force. One that is the same as before lets go of nothing that it holds. */
  replace(rules: readonly Rule[]): void {
    const { clock, seed } = this.#options;
    const old = new Map(this.#states.map((state) => [JSON.stringify(state.rule), state]));
    this.#clearTimers();
    this.#readAtMs = clock.monotonicMs();
    this.#states = rules.map((rule) => {
      const kept = old.get(JSON.stringify(rule));
      old.delete(JSON.stringify(rule));
      const controller =
        kept === undefined || kept.controller.signal.aborted ? createController() : kept.controller;
      return {
        ...{ rule, controller, withdrawn: controller.signal, seen: 0 },
        random: createSeededRandom(seed, rule.name),
        methods: rule.match.methods === undefined ? undefined : new Set(rule.match.methods),
      };
    });
    for (const { controller } of old.values()) controller.abort();
    for (const state of this.#states) this.#setTimers(state);
  }

  close(): void {
    this.#clearTimers();
    for (const { controller } of this.#states) controller.abort();
    this.#states = [];
  }

  /** What the rules may do with calls of that method. */
  concerns(path: string): RuleConcerns {
    const states = this.#states.filter((state) => this.#isOfMethod(state, path, shortMethod(path)));
    return {
      request: states.length > 0,
      answer: states.some(({ rule }) => hitsAnswer(rule.fault)),
      answersKept: Math.max(
        0,
        ...states.map(({ rule: { fault } }) => (fault.type === 'stale-list' ? fault.behind + 1 : 0)),
      ),
    };
  }

  /** The rule that hits this call, if one does. */
  decideCall(subject: Subject): ActiveRule | undefined {
    return this.#states.find(
      (state) => this.#isOfMethod(state, subject.path, subject.method) && this.#hits(state, subject),
    );
  }

  /** The rule that hits this event, if one does. */
  decideEvent(subject: Subject): ActiveRule | undefined {
    return this.#states.find(
      (state) => isEventFault(state.rule.fault.type) && !endsByTime(state.rule) && this.#hits(state, subject),
    );
  }

  /** The rule that ends an event stream some time after its start, if one does. */
  decideStream(subject: Subject): ActiveRule | undefined {
    return this.#states.find((state) => endsByTime(state.rule) && this.#hits(state, subject));
  }

  /** Whether nobody is to be let in now. */
  findOutage(): ActiveRule | undefined {
    return this.#states.find(({ rule }) => rule.fault.type === 'outage' && this.#isInWindow(rule));
  }

  #isOfMethod({ rule, methods }: RuleState, path: string, method: string): boolean {
    const { type } = rule.fault;
    if (type === 'outage' || isEventFault(type)) return false;
    if (isListFault(type) && (!isCri(path) || !isList(method))) return false;
    if (methods === undefined) return true;
    return methods.has(path) || (isCri(path) && methods.has(method));
  }

  #hits(state: RuleState, subject: Subject): boolean {
    const { rule } = state;
    const { match } = rule;
    if (!this.#isInWindow(rule)) return false;
    if (match.events !== undefined && !match.events.some((kind) => kind === subject.eventKind)) return false;
    // Of a list they choose items, not calls.
    if (!isListFault(rule.fault.type) && !matchesNames(rule, subject)) return false;
    state.seen++;
    if (match.nth !== undefined && state.seen !== match.nth) return false;
    if (match.every !== undefined && state.seen % match.every !== 0) return false;
    return match.share === undefined || state.random() < match.share;
  }

  #isInWindow({ match: { afterMs = 0, untilMs = Infinity } }: Rule): boolean {
    const ageMs = this.#options.clock.monotonicMs() - this.#readAtMs;
    return ageMs >= afterMs && ageMs < untilMs;
  }

  #setTimers(state: RuleState): void {
    const { clock, onOutage } = this.#options;
    const { afterMs = 0, untilMs } = state.rule.match;
    if (state.rule.fault.type === 'outage') {
      this.#timers.push(clock.setTimer(afterMs, () => onOutage(state), { unref: true }));
    }
    // What hangs is let go when its time is over.
    if (untilMs === undefined || untilMs > LONGEST_TIMER_MS) return;
    this.#timers.push(clock.setTimer(untilMs, () => state.controller.abort(), { unref: true }));
  }

  #clearTimers(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
  }
}

function createController(): AbortController {
  const controller = new AbortController();
  // One for each call that hangs, and all of them may.
  setMaxListeners(0, controller.signal);
  return controller;
}

/** What a timer of Node can hold, some 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function endsByTime({ fault }: Rule): boolean {
  return fault.type === 'end-stream' && fault.openForMs !== undefined;
}

/** Whether pod and container are among those that a rule names, if it names any. */
export function matchesNames({ match: { pods, containers } }: Rule, subject: Subject): boolean {
  if (pods === undefined && containers === undefined) return true;
  const known = subject.known?.();
  if (pods !== undefined && !pods.some((name) => isPod(name, known, subject.sandboxId))) return false;
  if (containers === undefined) return true;
  return containers.some((name) => isContainer(name, known, subject.containerId));
}

function isPod(name: string, known: KnownId | undefined, sandboxId: string | undefined): boolean {
  if (isId(name, sandboxId)) return true;
  if (known === undefined) return false;
  const { pod } = known;
  return name === pod.uid || name === pod.name || name === `${pod.namespace}/${pod.name}`;
}

function isContainer(name: string, known: KnownId | undefined, id: string | undefined): boolean {
  return isId(name, id) || (known?.containerName !== undefined && known.containerName === name);
}

function isId(name: string, id: string | undefined): boolean {
  return id !== undefined && name.length >= SHORTEST_ID_PART && id.startsWith(name);
}

/** The subject of an event stream as a whole. */
export function streamSubject(path: string): Subject {
  return { method: EVENTS_METHOD, path };
}
