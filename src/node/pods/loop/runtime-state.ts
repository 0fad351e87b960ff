/**
 * Whether the runtime, its network and the agent's own parts are healthy enough to sync pods.
 *
 * In: the runtime's answers to CRI Status, which it polls, and named health checks, which it reads when
 * asked. Out: errors in the kubelet's words. It stops nothing itself: the sync loop asks before it syncs, and
 * a sync asks for the network before it starts a pod with a network of its own.
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
 * Limit for a message of the runtime, in bytes: it goes into the Node, and an API server refuses Nodes that
 * are too large.
 */
const MAX_MESSAGE_BYTES = 32 * 1024;

/** One of CRI's RuntimeConditions: `RuntimeReady`, `NetworkReady`, or one of the runtime's own. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The health of one part of the agent. */
export interface HealthCheck {
  /** As the error names it: `PLEG`. */
  readonly name: string;
  /** Why it is not healthy; undefined when it is. */
  readonly findProblem: () => string | undefined;
  /** Whether it could not be healthy yet, as the agent has just started (default: false). */
  readonly isPending?: () => boolean;
}

/** What {@link RuntimeState} needs. */
export interface RuntimeStateOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  /** Calls CRI Status and returns its conditions. */
  readonly getConditions: (signal: AbortSignal) => Promise<readonly RuntimeCondition[]>;
  readonly healthChecks?: readonly HealthCheck[];
  /** From the end of a call to the next (default: 5 s); shorter while the runtime is not healthy. */
  readonly periodMs?: number;
  /** For each call (default: 10 s). */
  readonly deadlineMs?: number;
  /** A last good answer that is older than this no longer counts (default: 30 s). */
  readonly thresholdMs?: number;
}

/** The first delay of the quick polls while the runtime is not healthy; they double up to the period. */
const FIRST_RETRY_MS = 500;

/** The last reported state of the runtime: see the comment of this module. */
export class RuntimeState {
  readonly #options: RuntimeStateOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #periodMs: number;
  readonly #retries: Backoff;
  #conditions: readonly RuntimeCondition[] = [];
  /** Monotonic milliseconds of the last answer that said that the runtime is ready. */
  #readyAtMs: number | undefined;
  /** A call has ended, well or not. */
  #hasAsked = false;
  /** The last call was answered, whatever the answer. */
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

  /** The conditions in the last answer; empty before the first one. */
  get conditions(): readonly RuntimeCondition[] {
    return this.#conditions;
  }

  /** Whether the runtime answered the last call. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Why no pod may be synced now, in the kubelet's words and order; empty when pods may be synced. */
  errors(): readonly string[] {
    const { healthChecks = [] } = this.#options;
    const problems = healthChecks.flatMap(({ name, findProblem }) => {
      const problem = findProblem();
      return problem === undefined ? [] : [`${name} is not healthy: ${problem}`];
    });
    return [...this.#silence(), ...problems, ...this.#complaint()];
  }

  /** Whether all present errors only mean that the first answers are still on their way. */
  isPending(): boolean {
    const { healthChecks = [] } = this.#options;
    const isSilent = this.#readyAtMs === undefined || this.#silence().length === 0;
    const areOthersPending = healthChecks.every(
      ({ findProblem, isPending }) => findProblem() === undefined || isPending?.() === true,
    );
    const isAsking = this.#readyAtMs !== undefined || !this.#hasAsked;
    return isSilent && isAsking && areOthersPending && this.#complaint().length === 0;
  }

  /** Why the runtime itself is not healthy, in the same words; empty when it is. */
  runtimeErrors(): readonly string[] {
    return [...this.#silence(), ...this.#complaint()];
  }

  /** Why pods with a network of their own may not start now; empty when they may. */
  networkErrors(): readonly string[] {
    return this.#networkError === undefined ? [] : [this.#networkError];
  }

  /** Calls `listener` after each call of the runtime, answered or not. */
  onAnswer(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Polls until the signal aborts, then resolves. */
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

  /** An error when the runtime has not been ready for longer than the threshold. */
  #silence(): string[] {
    const { thresholdMs = 30_000 } = this.#options;
    if (this.#readyAtMs === undefined) {
      return ['container runtime status check may not have completed yet'];
    }
    return this.#clock.monotonicMs() - this.#readyAtMs >= thresholdMs ? ['container runtime is down'] : [];
  }

  /** What the runtime itself reports as wrong. */
  #complaint(): string[] {
    return this.#runtimeError === undefined ? [] : [this.#runtimeError];
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { deadlineMs = 10_000, getConditions } = this.#options;
    const message = `the runtime did not return its status within ${deadlineMs} ms`;
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

/** Joins errors as Go's aggregates print them: several in brackets, a single one without. */
export function formatErrors(errors: readonly string[]): string {
  return errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`;
}

/** The condition in words if it does not hold; undefined if it does. */
function findProblem(conditions: readonly RuntimeCondition[], type: string): string | undefined {
  const condition = conditions.find((each) => each.type === type);
  if (condition === undefined) return `the runtime did not return ${type}`;
  return condition.status ? undefined : formatCondition(condition);
}

function formatCondition({ type, status, reason, message }: RuntimeCondition): string {
  return `${type}=${status} reason:${reason} message:${cutText(message, MAX_MESSAGE_BYTES)}`;
}
