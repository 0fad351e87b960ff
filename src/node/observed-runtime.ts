import {
  meansNoEvents,
  type ObservedPod,
  type PodStatus,
  type Runtime,
  type RuntimeEventHandlers,
} from '#watch';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';

/** Callbacks of {@link ObservedRuntime}; each is called once per change. */
export interface ObservedRuntimeOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  /** The list failed for the first time since it last succeeded. */
  readonly onLost: (message: string) => void;
  /** The list succeeds again. */
  readonly onBack: () => void;
  /** Events were requested, and the runtime has none. */
  readonly onNoEvents: () => void;
}

/**
 * A {@link Runtime} that passes every call on, and notices when lists fail or succeed again and when there
 * are no events.
 *
 * It makes no calls of its own, and sees only those of others.
 */
export class ObservedRuntime implements Runtime {
  readonly #options: ObservedRuntimeOptions;
  readonly watchEvents?: Runtime['watchEvents'];
  #lost = false;
  #hasLoggedNoEvents = false;

  constructor(options: ObservedRuntimeOptions) {
    this.#options = options;
    // Its absence means something: a runtime that can never have events.
    if (options.runtime.watchEvents !== undefined) this.watchEvents = this.#watchEvents.bind(this);
  }

  async listPods(signal?: AbortSignal): Promise<readonly ObservedPod[]> {
    try {
      const pods = await this.#options.runtime.listPods(signal);
      if (this.#lost) {
        this.#lost = false;
        this.#options.onBack();
      }
      return pods;
    } catch (error) {
      if (!this.#lost && signal?.aborted !== true) {
        this.#lost = true;
        this.#options.onLost(messageOf(error));
      }
      throw error;
    }
  }

  findPod(uid: string, signal?: AbortSignal): Promise<ObservedPod | undefined> {
    return this.#options.runtime.findPod(uid, signal);
  }

  getPodStatus(pod: ObservedPod, signal?: AbortSignal): Promise<PodStatus> {
    return this.#options.runtime.getPodStatus(pod, signal);
  }

  async #watchEvents(handlers: RuntimeEventHandlers, signal: AbortSignal): Promise<void> {
    const { runtime, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    let events = 0;
    const counting: RuntimeEventHandlers = {
      onOpen: () => handlers.onOpen?.(),
      onEvent: (event) => {
        events++;
        handlers.onEvent(event);
      },
      onSkipped: () => handlers.onSkipped?.(),
    };
    let error: unknown;
    try {
      await runtime.watchEvents?.(counting, signal);
    } catch (failure) {
      error = failure;
      throw failure;
    } finally {
      const livedMs = clock.monotonicMs() - startedMs;
      if (!signal.aborted && meansNoEvents({ error, events, livedMs })) this.#logNoEvents();
    }
  }

  #logNoEvents(): void {
    if (this.#hasLoggedNoEvents) return;
    this.#hasLoggedNoEvents = true;
    this.#options.onNoEvents();
  }
}
