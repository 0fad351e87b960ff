/**
 * A CRI proxy that makes a node misbehave on purpose.
 *
 * In: a runtime's socket, and rules. Out: a socket at which the same runtime seems to be, with the faults that the
 * rules say. Calls that no rule can be about pass as bytes; of the others the request is held until it is known which
 * rule hits. Pods are known to the runtime by ids only. So the calls that create pods and containers are always read
 * as they pass, and lists, statuses and events as long as a rule names a pod or container.
 *
 * It assumes that somebody has listed the pods, or made them, through this proxy before a client asks about one of
 * them: an unknown id matches no rule that names a pod, until an answer identifies it.
 *
 * @module
 */
import { type CallPlan, type CallStart, FrameRelay, type RelayCounts } from '../relay/index.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { AnswerHistory } from './faults/answer-history.js';
import { ChaosCall } from './chaos-call.js';
import { type ChaosContext } from './chaos-context.js';
import { EVENTS_METHOD, isCri, shortMethod } from './cri-method.js';
import { type Injection, type InjectionCount, Injections } from './faults/injections.js';
import { PodDirectory } from './pod-directory.js';
import { type Rule } from './chaos-rule.js';
import { RuleBook } from './rule-book.js';

/** How a {@link ChaosProxy} is started. */
export interface ChaosProxyOptions {
  /** `unix:///path` of the runtime. It need not be there yet. */
  readonly upstream: string;
  /** `unix:///path` to listen at; only its owner may open it. */
  readonly listen: string;
  readonly rules: readonly Rule[];
  /** The same seed, rules and calls give the same faults. */
  readonly seed: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Called for each fault as it is injected. */
  readonly onInjection?: (injection: Injection) => void;
}

/** See the module's comment. */
export class ChaosProxy implements AsyncDisposable {
  readonly #context: ChaosContext;
  #relay: FrameRelay | undefined;

  private constructor({ clock = new SystemClock(), logger = SILENT_LOGGER, ...options }: ChaosProxyOptions) {
    const injections = new Injections({ clock, logger, onInjection: options.onInjection });
    const book = new RuleBook({
      ...{ clock, logger, seed: options.seed },
      onOutage: ({ rule }) => {
        const cut = this.#relay?.counts.openConnections ?? 0;
        this.#relay?.breakConnections();
        injections.note(rule, {}, `${cut} connections cut`);
      },
    });
    const [directory, history] = [new PodDirectory(), new AnswerHistory()];
    this.#context = { clock, logger, book, directory, history, injections };
  }

  /** Listens. Throws OPTION_INVALID, or ENDPOINT_IN_USE when somebody else answers there. */
  static async start(options: ChaosProxyOptions): Promise<ChaosProxy> {
    const proxy = new ChaosProxy(options);
    proxy.#relay = await FrameRelay.start({
      ...{ upstream: options.upstream, listen: options.listen, logger: options.logger ?? SILENT_LOGGER },
      intercept: (start) => proxy.#intercept(start),
      admit: () => proxy.#admit(),
    });
    // Their time begins when somebody can call.
    proxy.replaceRules(options.rules);
    return proxy;
  }

  /** `unix:///path`, for clients. */
  get endpoint(): string {
    return this.#relay!.endpoint;
  }

  get rules(): readonly Rule[] {
    return this.#context.book.rules;
  }

  /** What was injected so far. */
  get injected(): readonly InjectionCount[] {
    return this.#context.injections.counts;
  }

  get counts(): RelayCounts {
    return this.#relay!.counts;
  }

  /** Puts these rules in force. What hangs because of a rule that is gone goes on. */
  replaceRules(rules: readonly Rule[]): void {
    this.#context.book.replace(rules);
  }

  async close(): Promise<void> {
    this.#context.book.close();
    await this.#relay?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #intercept({ path }: CallStart): CallPlan | undefined {
    const { book } = this.#context;
    const method = shortMethod(path);
    const about = book.concerns(path);
    const look = book.chooseLook(path);
    // A stream of events lives long: rules that are read later are about it, too.
    const isEvents = isCri(path) && method === EVENTS_METHOD;
    if (!about.request && look === 'pass' && !isEvents) return undefined;
    const sides = {
      request: about.request || isEvents ? 'take' : 'tap',
      response: about.answer || isEvents ? 'take' : look,
    } as const;
    return {
      ...sides,
      createHandler: (call) => new ChaosCall(this.#context, call, method, sides),
    };
  }

  #admit(): boolean {
    const outage = this.#context.book.findOutage();
    if (outage !== undefined) this.#context.injections.note(outage.rule, {}, 'a connection refused');
    return outage === undefined;
  }
}
