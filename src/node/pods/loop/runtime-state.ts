/**
 * Whether the runtime, its network and the agent's own parts are well enough for pods to be synced.
 *
 * In: the runtime's own answer to CRI Status, asked again and again, and named health checks that are asked when
 * somebody wants to know. Out: errors in the kubelet's words. Nothing here stops anybody: the sync loop asks before it
 * syncs, and a sync asks for the network before it starts a pod with a network of its own.
 *
 * Source: CRI RuntimeService.Status; https://kubernetes.io/docs/reference/node/node-status/#condition
 *
 * @module
 */
import { callWithDeadline } from '#watch';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { cutText } from '#base/text/cut-text.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

/**
 * What is told of a message that a runtime sends, in bytes: it goes into the Node, which an API server refuses where it
 * is too large.
 */
const MOST_MESSAGE_BYTES = 32 * 1024;

/** One of CRI's RuntimeConditions: `RuntimeReady`, `NetworkReady`, or one of the runtime's own. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What the agent's own part says of itself. */
export interface HealthCheck {
  /** As it stands in the error: `PLEG`. */
  readonly name: string;
  /** Why it is not healthy; undefined when it is. */
  readonly findProblem: () => string | undefined;
  /** Whether it has had no chance yet to be healthy: the agent has just started. Never when left out. */
  readonly isPending?: () => boolean;
}

/** What {@link RuntimeState} needs. */
export interface RuntimeStateOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  /** CRI Status: its conditions. */
  readonly getConditions: (signal: AbortSignal) => Promise<readonly RuntimeCondition[]>;
  readonly healthChecks?: readonly HealthCheck[];
  /** From the end of a call to the next; 5 s unless told. Sooner while the runtime is not well. */
  readonly periodMs?: number;
  /** For each call (default: 10 s). */
  readonly deadlineMs?: number;
  /** A last good answer that is older than this says nothing any more (default: 30 s). */
  readonly thresholdMs?: number;
}

/** The first of the quick questions to a runtime that is not well; they double up to the period. */
const FIRST_RETRY_MS = 500;

/** The state of the runtime as last told: see the comment of this module. */
export class RuntimeState {
  readonly #options: RuntimeStateOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #periodMs: number;
  readonly #retries: Backoff;
  #conditions: readonly RuntimeCondition[] = [];
  /** Monotonic milliseconds of the last answer that said the runtime is ready. */
  #readyAtMs: number | undefined;
  /** A question has come to an end, whichever. */
  #hasAsked = false;
  /** The last question was answered, whatever the answer. */
  #isAnswered = false;
  #runtimeError: string | undefined;
  #networkError: string | undefined = 'network state unknown';
  readonly #listeners = new Set<() => void>();

  constructor(options: RuntimeStateOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#periodMs = options.periodMs ?? 5_000;
    this.#retries = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: this.#periodMs });
  }

  /** What the runtime said last; empty before its first answer. */
  get conditions(): readonly RuntimeCondition[] {
    return this.#conditions;
  }

  /** Whether the runtime answered when it was asked last. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Why no pod may be synced now, in the kubelet's words and order; empty when pods may be. */
  errors(): readonly string[] {
    const { healthChecks = [] } = this.#options;
    const problems = healthChecks.flatMap(({ name, findProblem }) => {
      const problem = findProblem();
      return problem === undefined ? [] : [`${name} is not healthy: ${problem}`];
    });
    return [...this.#silence(), ...problems, ...this.#complaint()];
  }

  /** Whether all errors of now say no more than that the first answers are still on their way. */
  isPending(): boolean {
    const { healthChecks = [] } = this.#options;
    const isSilent = this.#readyAtMs === undefined || this.#silence().length === 0;
    const areOthersPending = healthChecks.every(
      ({ findProblem, isPending }) => findProblem() === undefined || isPending?.() === true,
    );
    const isAsking = this.#readyAtMs !== undefined || !this.#hasAsked;
    return isSilent && isAsking && areOthersPending && this.#complaint().length === 0;
  }

  /** Why the runtime itself is not well, in the same words; empty when it is. */
  runtimeErrors(): readonly string[] {
    return [...this.#silence(), ...this.#complaint()];
  }

  /** Why pods with a network of their own may not start now; empty when they may. */
  networkErrors(): readonly string[] {
    return this.#networkError === undefined ? [] : [this.#networkError];
  }

  /** Calls `listener` with each answer of the runtime, and with each question that was not answered. */
  onAnswer(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#ask(signal);
      const isWell = this.#runtimeError === undefined && this.#isAnswered;
      if (isWell) this.#retries.reset();
      await this.#clock
        .sleep(isWell ? this.#periodMs : this.#retries.nextMs(), signal)
        .catch(() => undefined);
    }
  }

  /** That it has not said for long that it is ready. */
  #silence(): string[] {
    const { thresholdMs = 30_000 } = this.#options;
    if (this.#readyAtMs === undefined) {
      return ['container runtime status check may not have completed yet'];
    }
    return this.#clock.monotonicMs() - this.#readyAtMs >= thresholdMs ? ['container runtime is down'] : [];
  }

  /** What it says itself. */
  #complaint(): string[] {
    return this.#runtimeError === undefined ? [] : [this.#runtimeError];
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { deadlineMs = 10_000, getConditions } = this.#options;
    const message = `the runtime did not tell its status within ${deadlineMs} ms`;
    this.#isAnswered = false;
    try {
      const conditions = await callWithDeadline(
        { clock: this.#clock, deadlineMs, message, signal },
        getConditions,
      );
      this.#isAnswered = true;
      this.#take(conditions);
    } catch (error) {
      if (!signal.aborted) this.#logger.error('Container runtime sanity check failed', error);
    }
    this.#hasAsked = true;
    for (const listener of this.#listeners) listener();
  }

  #take(conditions: readonly RuntimeCondition[]): void {
    this.#conditions = conditions;
    const status = `Runtime Conditions: ${conditions.map(formatCondition).join(', ')}`;
    this.#logger.info('Container runtime status', { status }, 4);
    const [network, runtime] = ['NetworkReady', 'RuntimeReady'].map((type) => findProblem(conditions, type));
    this.#networkError = network && `container runtime network not ready: ${network}`;
    if (network !== undefined) {
      this.#logger.error('Container runtime network not ready', undefined, { networkReady: network });
    }
    this.#runtimeError = runtime && `container runtime not ready: ${runtime}`;
    if (runtime === undefined) this.#readyAtMs = this.#clock.monotonicMs();
    else this.#logger.error('Container runtime not ready', undefined, { runtimeReady: runtime });
  }
}

/** Several errors as one message, as Go's aggregates print them: in brackets, one alone without. */
export function formatErrors(errors: readonly string[]): string {
  return errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`;
}

/** The condition if it does not hold, in words; undefined if it does. */
function findProblem(conditions: readonly RuntimeCondition[], type: string): string | undefined {
  const condition = conditions.find((each) => each.type === type);
  if (condition === undefined) return `the runtime did not tell ${type}`;
  return condition.status ? undefined : formatCondition(condition);
}

function formatCondition({ type, status, reason, message }: RuntimeCondition): string {
  return `${type}=${status} reason:${reason} message:${cutText(message, MOST_MESSAGE_BYTES)}`;
}
