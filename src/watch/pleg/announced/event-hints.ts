import { type Runtime, type RuntimeEvent } from '../../observed/runtime.js';
import { abortable } from '#base/async/abortable.js';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { isUnimplemented, messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';

/**
 * The state of the event stream.
 *
 * ```
 *            ┌────────── broke, ended ──────────┐
 *            ▼                                  │
 * off ──► connecting ── answered, or 1 s ──► up ┤
 *            ▲  │                               │
 *            │  ├── broke ──► waiting ◄─────────┘
 *            │  └── Unimplemented, ended at once ──► unsupported
 *            └──────── delay over ────────┴────────────┘
 * ```
 *
 * A gRPC server need not send anything before the first event, so a stream that has not ended within a second
 * counts as up. One that was accepted may still turn out to be unsupported: CRI-O with events switched off
 * accepts the subscription and ends it.
 */
export type StreamState = 'off' | 'connecting' | 'up' | 'waiting' | 'unsupported';

const EDGES: Readonly<Record<StreamState, readonly StreamState[]>> = {
  off: ['connecting'],
  connecting: ['up', 'waiting', 'unsupported', 'off'],
  up: ['waiting', 'unsupported', 'off'],
  waiting: ['connecting', 'off'],
  unsupported: ['connecting', 'off'],
};

/** The stream's present state, for health, metrics and people. */
export interface StreamInfo {
  readonly state: StreamState;
  /** How many subscriptions were requested. */
  readonly connects: number;
  /** How many streams broke, ended or were refused. */
  readonly failures: number;
  readonly lastError: string | undefined;
  /** Wall-clock milliseconds at which the present stream was requested; undefined if there is none. */
  readonly connectedAtMs: number | undefined;
}

/** Callbacks and settings of {@link EventHints}. */
export interface EventHintsOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called synchronously for every event; must not block. */
  readonly onEvent: (event: RuntimeEvent) => void;
  /** Called for every event that could not be read. */
  readonly onSkipped: () => void;
  readonly onState: (state: StreamState) => void;
  readonly random?: () => number;
}

/** The longest delay between two attempts, in milliseconds, and the retry period of an unsupported stream. */
export const RECONNECT_CAP_MS = 60_000;
/** A stream that lived this long counts as healthy: the next failure starts the delays over. */
const HEALTHY_AFTER_MS = 60_000;
/** A stream that has not ended after this time counts as up, in milliseconds. */
const SETTLE_MS = 1_000;

const FIRST_DELAY_MS = 100;

/** How an event stream ended. */
export interface StreamEnd {
  /** Undefined if the runtime ended it without an error. */
  readonly error: unknown;
  /** How many events came. */
  readonly events: number;
  readonly livedMs: number;
}

/**
 * Whether the end of a stream means that the runtime has no events.
 *
 * It does not implement the call, or it accepts the subscription and ends it at once, as CRI-O does with
 * events switched off.
 */
export function meansNoEvents({ error, events, livedMs }: StreamEnd): boolean {
  return isUnimplemented(error) || (error === undefined && events === 0 && livedMs < SETTLE_MS);
}

/**
 * Maintains one subscription to the runtime's events for ever: reconnects at once after the first failure,
 * then with growing, jittered delays up to a minute.
 *
 * It neither interprets nor stores events; it passes each on in the same tick, so that the stream is always
 * drained.
 */
export class EventHints {
  readonly #options: EventHintsOptions;
  readonly #backoff: Backoff;
  #state: StreamState = 'off';
  #connects = 0;
  #failures = 0;
  #lastError: string | undefined;
  #connectedAtMs: number | undefined;

  constructor(options: EventHintsOptions) {
    this.#options = options;
    this.#backoff = new Backoff({
      initialMs: FIRST_DELAY_MS,
      maxMs: RECONNECT_CAP_MS,
      jitter: 0.5,
      firstAtOnce: true,
      random: options.random,
    });
  }

  /** The stream's present state. */
  get info(): StreamInfo {
    return {
      state: this.#state,
      connects: this.#connects,
      failures: this.#failures,
      lastError: this.#lastError,
      connectedAtMs: this.#connectedAtMs,
    };
  }

  /** Subscribes and resubscribes until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const delayMs = await this.#subscribeOnce(signal);
      if (delayMs === undefined) break;
      try {
        await clock.sleep(delayMs, signal);
      } catch {
        break;
      }
    }
    this.#transitionTo('off');
  }

  /**
   * Runs one stream to its end. Returns the delay before the next one, or undefined when the signal aborted.
   */
  async #subscribeOnce(signal: AbortSignal): Promise<number | undefined> {
    const { clock, runtime, logger } = this.#options;
    this.#transitionTo('connecting');
    this.#connects++;
    this.#connectedAtMs = clock.now();
    const startedMs = clock.monotonicMs();
    let events = 0;
    const settle = clock.setTimer(SETTLE_MS, () => this.#transitionTo('up'), { unref: true });
    let error: unknown;
    let live = true;
    try {
      const stream = runtime.watchEvents?.(
        {
          onOpen: () => {
            if (live) this.#transitionTo('up');
          },
          onEvent: (event) => {
            if (!live) return;
            events++;
            this.#transitionTo('up');
            this.#options.onEvent(event);
          },
          onSkipped: () => {
            if (live) this.#options.onSkipped();
          },
        },
        signal,
      );
      await abortable(Promise.resolve(stream), signal);
    } catch (failure) {
      error = failure;
    } finally {
      live = false;
      settle.cancel();
      this.#connectedAtMs = undefined;
    }
    if (signal.aborted) return undefined;
    this.#failures++;
    this.#lastError = error === undefined ? 'the runtime ended the stream' : messageOf(error);
    const livedMs = clock.monotonicMs() - startedMs;
    if (meansNoEvents({ error, events, livedMs })) {
      this.#transitionTo('unsupported');
      logger.info(
        'Container events are not supported by the runtime, relisting instead',
        { err: this.#lastError },
        2,
      );
      return RECONNECT_CAP_MS;
    }
    if (livedMs >= HEALTHY_AFTER_MS) this.#backoff.reset();
    this.#transitionTo('waiting');
    const delayMs = this.#backoff.nextMs();
    logger.warn('Container event stream broke, reconnecting', {
      err: this.#lastError,
      delayMs: Math.round(delayMs),
    });
    return delayMs;
  }

  #transitionTo(state: StreamState): void {
    if (!EDGES[this.#state].includes(state)) return;
    this.#state = state;
    this.#options.onState(state);
  }
}
