import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type CallMeter } from './call-meter.js';
import { type ConnectionFacts } from './runtime-facts.js';
import { type CallLimits, type RuntimePort } from '../runtime-port.js';

const RETRY_MS = 250;
/** How often a runtime that is there is asked whether it still is. */
const PING_MS = 200;

/** Ways to fail that may be over in a moment: the runtime is ending, starting, or does both all the time. */
const MAY_PASS = ['CRI_UNAVAILABLE', 'ENDPOINT_NOT_FOUND', 'ENDPOINT_NOT_CRI', 'ENDPOINT_NO_CRI_V1'];

/** A containerd says this while it loads its pods, with a code that it uses for anything. */
export const STARTING = /server is not initialized yet/;

function mayPass(error: unknown): boolean {
  return error instanceof PodloopError && (MAY_PASS.includes(error.code) || STARTING.test(error.message));
}

/** Connects to a runtime and keeps an eye on whether it stays there. */
export class ConnectionWatch {
  readonly #runtime: RuntimePort;
  readonly #clock: Clock;
  readonly #startedMs: number;
  #connected = false;
  #attempts = 0;
  #failures = 0;
  /** Failures because it was starting. */
  #starts = 0;
  #last: { readonly error: string; readonly code: string } | undefined;

  constructor({ runtime, clock }: { readonly runtime: RuntimePort; readonly clock: Clock }) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  get facts(): ConnectionFacts {
    return {
      ...{ connected: this.#connected, attempts: this.#attempts, failures: this.#failures, ...this.#last },
      watchedMs: this.#clock.monotonicMs() - this.#startedMs,
    };
  }

  /** Tries for `forMs` where trying again may help. Resolves with undefined when it is in vain. */
  async connect(
    forMs: number,
    limits: CallLimits,
  ): Promise<{ readonly name: string; readonly version: string } | undefined> {
    for (;;) {
      try {
        this.#attempts++;
        const found = await this.#runtime.connect(limits);
        this.#connected = true;
        // One that was about to be there, and now is, is well.
        if (this.#starts === this.#failures) this.#forget();
        return found;
      } catch (error) {
        limits.signal.throwIfAborted();
        this.#count(error);
        const isOver = this.#clock.monotonicMs() - this.#startedMs >= forMs;
        if (isOver || !mayPass(error)) return undefined;
      }
      await this.#clock.sleep(RETRY_MS, limits.signal);
    }
  }

  /** Asks again and again until the signal of the limits aborts. */
  async ping(meter: CallMeter, limits: CallLimits): Promise<void> {
    const { signal } = limits;
    while (!signal.aborted) {
      const call = async (): Promise<void> => {
        this.#attempts++;
        try {
          await this.#runtime.version(limits);
        } catch (error) {
          if (!signal.aborted && mayPass(error)) this.#count(error);
          throw error;
        }
      };
      await meter.run({ method: 'Version' }, signal, call).catch(() => undefined);
      await this.#clock.sleep(PING_MS, signal).catch(() => undefined);
    }
  }

  #forget(): void {
    [this.#failures, this.#starts, this.#last] = [0, 0, undefined];
  }

  #count(error: unknown): void {
    this.#failures++;
    if (STARTING.test(messageOf(error))) this.#starts++;
    this.#last = { error: messageOf(error), code: error instanceof PodloopError ? error.code : '' };
  }
}
