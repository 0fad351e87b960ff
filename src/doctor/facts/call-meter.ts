import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { hasCode, messageOf } from '#base/errors/errors.js';
import { OwnLateness } from './own-lateness.js';
import { percentileOf } from '#base/text/percentile.js';
import { NOT_ASKED } from '../runtime-port.js';

/** What a call is about. */
export interface CallTarget {
  /** As CRI names it: ContainerStatus. */
  readonly method: string;
  readonly pod?: PodRef;
  readonly container?: string;
}

/** A call that ended, or was given up. */
export interface MeasuredCall extends CallTarget {
  /** Without what this process was late by itself meanwhile: rather too little than too much. */
  readonly ms: number;
  /** `hung`: there was no answer within the time it had. */
  readonly outcome: 'ok' | 'hung' | 'failed';
  /** One line, in the runtime's words; of a call that did not succeed. */
  readonly error?: string;
  readonly code?: string;
}

/** A call that has not been answered yet. */
export interface CallUnderWay extends CallTarget {
  readonly forMs: number;
}

/** What the calls of one method took. */
export interface OperationFacts {
  readonly method: string;
  readonly count: number;
  readonly hung: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The last failure, and its code. */
  readonly lastError?: string;
  readonly lastCode?: string;
}

/**
 * Runs calls and remembers what each took. Bounded: one for each pod and container, and a few more. Stop it when there
 * is nothing left to measure.
 */
export class CallMeter {
  readonly #clock: Clock;
  readonly #lateness: OwnLateness;
  readonly #ended: MeasuredCall[] = [];
  readonly #underWay = new Map<CallTarget, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lateness = new OwnLateness(clock);
    this.#lateness.start();
  }

  stop(): void {
    this.#lateness.stop();
  }

  /** Everything that ended so far, in the order in which it did. */
  get calls(): readonly MeasuredCall[] {
    return this.#ended;
  }

  /** Oldest first. */
  underWay(): CallUnderWay[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#underWay].map(([target, startedMs]) => ({ ...target, forMs: nowMs - startedMs }));
  }

  /**
   * Runs one call. Resolves with its answer, or with undefined when it failed; rejects when the signal has aborted.
   * `onEnd` gets its duration, before that. One that resolves with {@link NOT_ASKED} is not counted.
   */
  async run<T>(
    target: CallTarget,
    signal: AbortSignal,
    call: () => Promise<T>,
    onEnd?: (measured: MeasuredCall) => void,
  ): Promise<T | undefined> {
    const startedMs = this.#clock.monotonicMs();
    const lateBeforeMs = this.#lateness.totalMs;
    this.#underWay.set(target, startedMs);
    const end = (rest: Pick<MeasuredCall, 'outcome' | 'error' | 'code'>): void => {
      const lateMs = this.#lateness.totalMs - lateBeforeMs;
      const ms = Math.max(0, this.#clock.monotonicMs() - startedMs - lateMs);
      const measured = { ...target, ms, ...rest };
      this.#ended.push(measured);
      onEnd?.(measured);
    };
    try {
      const answer = await call();
      if (answer !== NOT_ASKED) end({ outcome: 'ok' });
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const { code = '' } = error as { code?: string };
      const outcome = hasCode(error, 'CRI_DEADLINE_EXCEEDED') ? 'hung' : 'failed';
      end({ outcome, error: messageOf(error), code });
      return undefined;
    } finally {
      this.#underWay.delete(target);
    }
  }

  /** By method, in the order in which each was first called. */
  operations(): OperationFacts[] {
    const methods = [...new Set(this.#ended.map(({ method }) => method))];
    return methods.map((method) => {
      const calls = this.#ended.filter((call) => call.method === method);
      const times = calls.map(({ ms }) => ms).sort((a, b) => a - b);
      const last = calls.findLast(({ outcome }) => outcome !== 'ok');
      return {
        method,
        count: calls.length,
        hung: calls.filter(({ outcome }) => outcome === 'hung').length,
        failed: calls.filter(({ outcome }) => outcome === 'failed').length,
        p50Ms: percentileOf(times, 0.5),
        p99Ms: percentileOf(times, 0.99),
        maxMs: times.at(-1) ?? 0,
        ...(last === undefined ? {} : { lastError: last.error ?? '', lastCode: last.code ?? '' }),
      };
    });
  }
}
