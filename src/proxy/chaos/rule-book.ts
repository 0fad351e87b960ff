import { setMaxListeners } from 'node:events';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import {
  isCreation,
  isCri,
  isList,
  isListOfPods,
  shortMethod,
  STATUS_METHOD,
  tellsPods,
} from './cri-method.js';
import { hitsAnswer, isEventFault, isListFault, type Rule } from './chaos-rule.js';
import { createSeededRandom } from './faults/seeded-random.js';
import { matchesNames, type Subject } from './subject.js';

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

/** What a {@link RuleBook} needs. */
export interface RuleBookOptions {
  readonly clock: Clock;
  readonly logger: Logger;
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

/** The rules that could be about calls of a method, in their order. */
interface MethodRules {
  readonly states: readonly RuleState[];
  readonly concerns: RuleConcerns;
}

/** Clients may invent methods without end: of so many it is remembered which rules could be about them. */
const MAX_METHODS = 256;
const MAX_PATH_LENGTH = 256;

/**
 * The rules in force, and which of them hits what comes next.
 *
 * The rules are asked in the order of the file, and the first one that hits is the one. A rule counts what it is
 * about (`nth`, `every`) as long as no rule before it has hit. Counts, times and chance begin anew when rules are read.
 */
export class RuleBook {
  readonly #options: RuleBookOptions;
  #states: RuleState[] = [];
  readonly #byPath = new Map<string, MethodRules>();
  #needsNames = false;
  #readAtMs = 0;
  #timers: ClockTimer[] = [];

  constructor(options: RuleBookOptions) {
    this.#options = options;
  }

  get rules(): readonly Rule[] {
    return this.#states.map(({ rule }) => rule);
  }

  /** Whether a rule names pods or containers, which requests identify by id only. */
  get needsNames(): boolean {
    return this.#needsNames;
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
    this.#byPath.clear();
    this.#needsNames = rules.some(({ match }) => match.pods !== undefined || match.containers !== undefined);
    for (const { controller } of old.values()) controller.abort();
    for (const state of this.#states) this.#setTimers(state);
  }

  close(): void {
    this.#clearTimers();
    this.#byPath.clear();
    for (const { controller } of this.#states) controller.abort();
    this.#states = [];
  }

  /** What the rules may do with calls of that method. */
  concerns(path: string): RuleConcerns {
    return this.#ofPath(path).concerns;
  }

  /**
   * Whether an answer of that method says which pod an id belongs to, and a rule needs that.
   *
   * Creations are always read: a rule that is put in force right after one hits the first call about the new
   * container, before any list or status has named it.
   */
  wantsNamesOf(path: string): boolean {
    if (!isCri(path)) return false;
    const method = shortMethod(path);
    return isCreation(method) || (this.#needsNames && tellsPods(method));
  }

  /** How an answer of that method is looked at when no rule hits it. Of large ones as little as possible is kept. */
  chooseLook(path: string): 'pass' | 'tap' | 'scan' {
    if (this.concerns(path).answersKept > 0) return 'tap';
    if (!this.wantsNamesOf(path)) return 'pass';
    return isListOfPods(shortMethod(path)) ? 'scan' : 'tap';
  }

  /** The rule that hits this call, if one does. */
  decideCall(subject: Subject): ActiveRule | undefined {
    return this.#ofPath(subject.path).states.find((state) => this.#hits(state, subject));
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

  #ofPath(path: string): MethodRules {
    const known = this.#byPath.get(path);
    if (known !== undefined) return known;
    const states = this.#states.filter((state) => this.#isOfMethod(state, path, shortMethod(path)));
    const found = {
      states,
      concerns: {
        request: states.length > 0,
        answer: states.some(({ rule }) => hitsAnswer(rule.fault)),
        answersKept: states.reduce(
          (most, { rule: { fault } }) =>
            fault.type === 'stale-list' ? Math.max(most, fault.behind + 1) : most,
          0,
        ),
      },
    };
    if (this.#byPath.size >= MAX_METHODS) this.#byPath.clear();
    if (path.length <= MAX_PATH_LENGTH) this.#byPath.set(path, found);
    return found;
  }

  #isOfMethod({ rule, methods }: RuleState, path: string, method: string): boolean {
    const { type } = rule.fault;
    if (type === 'outage' || isEventFault(type)) return false;
    if (isListFault(type) && (!isCri(path) || !isList(method))) return false;
    if (type === 'not-ready' && (!isCri(path) || method !== STATUS_METHOD)) return false;
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
    const { onOutage } = this.#options;
    const { afterMs = 0, untilMs } = state.rule.match;
    if (state.rule.fault.type === 'outage') this.#setTimer(afterMs, state, () => onOutage(state));
    // What hangs is let go when its time is over.
    if (untilMs !== undefined) this.#setTimer(untilMs, state, () => state.controller.abort());
  }

  #setTimer(delayMs: number, { rule }: RuleState, act: () => void): void {
    const { clock, logger } = this.#options;
    const guarded = (): void => {
      try {
        act();
      } catch (error) {
        logger.error('The time of a rule could not be recorded', error, { rule: rule.name });
      }
    };
    this.#timers.push(clock.setTimer(delayMs, guarded, { unref: true }));
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

function endsByTime({ fault }: Rule): boolean {
  return fault.type === 'end-stream' && fault.openForMs !== undefined;
}
