import { type CriCall } from '#base/channels/channels.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger } from '#base/log/logger.js';

/** What {@link SlowCallsReport} needs. */
export interface SlowCallsReportOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls without an answer yet. */
  readonly callsInFlight: () => readonly CriCall[];
  /** Timeout of a call beyond the time that the call itself requests, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Beyond the time that a call requests itself, as a stop does with its grace period. */
const TOLD_AFTER_MS = 10_000;
/** Reported by pod instead of by call, see {@link HealthReport}, or by other parts. */
const TOLD_ELSEWHERE = /^(List|Status$|ContainerStatus$|PodSandboxStatus$)/;

/** Logs which call of the runtime hangs, and for which pod: a line when it begins to, and one at its end. */
export class SlowCallsReport {
  readonly #options: SlowCallsReportOptions;
  readonly #told = new Map<number, CriCall>();

  constructor(options: SlowCallsReportOptions) {
    this.#options = options;
  }

  /** Logs what has changed since the last call. */
  update(): void {
    const { logger, callsInFlight } = this.#options;
    const calls = callsInFlight();
    for (const call of calls) {
      if (this.#told.has(call.id) || !this.#isSlow(call)) continue;
      this.#told.set(call.id, call);
      logger.warn('The runtime does not answer a call, other pods are not delayed', this.#describe(call));
    }
    const waiting = new Set(calls.map(({ id }) => id));
    for (const call of this.#told.values()) {
      if (waiting.has(call.id)) continue;
      this.#told.delete(call.id);
      logger.info('The call that was not answered is over', this.#describe(call));
    }
  }

  #isSlow({ method, streaming, deadlineMs, startedAtMonotonicMs }: CriCall): boolean {
    // Without a deadline it may take any time: the pull of an image.
    if (streaming || deadlineMs === undefined || TOLD_ELSEWHERE.test(method)) return false;
    const { clock, requestTimeoutMs } = this.#options;
    const ownMs = Math.max(0, deadlineMs - requestTimeoutMs);
    return clock.monotonicMs() - startedAtMonotonicMs >= ownMs + TOLD_AFTER_MS;
  }

  #describe({ method, pod, containerId, sandboxId, startedAtMonotonicMs }: CriCall) {
    const forMs = this.#options.clock.monotonicMs() - startedAtMonotonicMs;
    return {
      method,
      ...(pod === undefined ? {} : { pod, podUID: pod.uid }),
      ...(containerId === undefined ? {} : { containerID: containerId }),
      ...(sandboxId === undefined ? {} : { podSandboxID: sandboxId }),
      for: formatGoDuration(Math.round(forMs / 1_000) * 1_000),
    };
  }
}
