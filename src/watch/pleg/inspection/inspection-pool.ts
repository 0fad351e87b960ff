import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { OnePerTurn } from '#base/async/one-per-turn.js';
import { isHeard, publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { inspectionEnded } from '#base/channels/pleg-channels.js';
import { InspectionQueue } from './inspection-queue.js';

/** One status call of one pod, to be made when there is room. */
export interface Inspection<T> {
  readonly pod: PodRef;
  /** A container of the pod died, so it goes before the others. */
  readonly urgent: boolean;
  /** The last inspection of this pod was slow: it never takes a place in the budget, only one outside. */
  readonly knownSlow: boolean;
  /**
   * It begins only while no other is in the budget or waits for it, and is cancelled when it turns out to be
   * slow, so that it never takes a place from others.
   */
  readonly whenIdle?: boolean;
  readonly run: (signal: AbortSignal) => Promise<T>;
}

/** A submitted inspection. */
export interface InspectionHandle<T> {
  /** The outcome. Rejects at the deadline even if `run` never returns. */
  readonly result: Promise<T>;
  /** Resolves when the inspection has ended or is slow: nobody need wait for it any longer. */
  readonly budgetEnd: Promise<void>;
  /** Moves it before the others, as a death was seen. Does nothing once it has begun. */
  hurry(): void;
  /**
   * Cancels it: a waiting one never begins, a running one has its signal aborted. `result` rejects with
   * `reason`.
   */
  cancel(reason: Error): void;
}

/** A running inspection, for people. */
export interface InspectionInFlight {
  readonly pod: PodRef;
  readonly ageMs: number;
  /** Whether it has left the budget. */
  readonly slow: boolean;
}

/** Options of {@link InspectionPool}. */
export interface InspectionPoolOptions extends Publisher {
  readonly clock: Clock;
  /** Inspections in the budget at a time. */
  readonly concurrency: number;
  /** An inspection leaves the budget after this time, in milliseconds. */
  readonly slowAfterMs: number;
  /** Inspections outside the budget at a time. */
  readonly slowLimit: number;
  /** An inspection is cancelled after this time, in milliseconds. */
  readonly deadlineMs: number;
  /** Lets the event loop turn once between the ends of two inspections (default: setImmediate). */
  readonly yieldToLoop?: (() => Promise<unknown>) | undefined;
}

/**
 * Minimum time left for an inspection whose deadline passed while our own event loop was blocked, as its
 * answer may have arrived.
 */
const LEAST_LEFT_MS = 50;

type JobState = 'queued' | 'budget' | 'slow' | 'answered' | 'ended';
type Outcome = { readonly value: unknown } | { readonly error: Error; readonly isCancelled?: boolean };

class Job {
  readonly inspection: Inspection<unknown>;
  readonly controller = new AbortController();
  readonly result: Promise<unknown>;
  readonly budgetEnd: Promise<void>;
  state: JobState = 'queued';
  waitsIn: InspectionQueue<Job> | undefined;
  startedMs = 0;
  wasSlow = false;
  timer: ClockTimer | undefined;
  resolve!: (value: unknown) => void;
  reject!: (error: Error) => void;
  leaveBudget!: () => void;

  constructor(inspection: Inspection<unknown>, queue: InspectionQueue<Job>) {
    this.inspection = inspection;
    this.waitsIn = queue;
    this.result = new Promise<unknown>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.budgetEnd = new Promise<void>((resolve) => (this.leaveBudget = resolve));
  }
}

/**
 * Runs inspections concurrently, within bounds that hung ones cannot use up.
 *
 * ```
 * queued ──► budget ──► slow ──► answered ──► ended
 *    │          └──────────────────▲
 *    └──► slow (known to be slow) ─┘
 * ```
 *
 * A displaced or cancelled inspection ends at once; one for idle times ends instead of becoming slow.
 *
 * The budget has `concurrency` places. An inspection that is still there after `slowAfterMs` moves to one of
 * `slowLimit` places outside, and continues until `deadlineMs`. When those are full too, the longest-running
 * of them is cancelled, so that the budget always becomes free. A pod known to be slow begins outside, and
 * waits for a free place there. The order is: deaths, then order of arrival, and last, one at a time, those
 * for idle times.
 *
 * Answers that arrive together end their inspections in one turn of the event loop each. So the calls that
 * take their places are sent while the remaining answers are read, which keeps the runtime busy and spreads
 * later answers.
 */
export class InspectionPool {
  readonly #options: InspectionPoolOptions;
  readonly #urgent = new InspectionQueue<Job>();
  readonly #normal = new InspectionQueue<Job>();
  readonly #retries = new InspectionQueue<Job>();
  readonly #whenIdle = new InspectionQueue<Job>();
  readonly #budget = new Set<Job>();
  readonly #slow = new Set<Job>();
  readonly #ends: OnePerTurn;
  #displaced = 0;

  constructor(options: InspectionPoolOptions) {
    this.#options = options;
    this.#ends = new OnePerTurn(options.yieldToLoop);
  }

  /** How many wait for a place. */
  get queued(): number {
    return this.#urgent.size + this.#normal.size + this.#retries.size + this.#whenIdle.size;
  }

  /** How many were cancelled to make room for others. */
  get displaced(): number {
    return this.#displaced;
  }

  /** Every inspection that has begun and not ended, oldest first. */
  inFlight(): InspectionInFlight[] {
    const now = this.#options.clock.monotonicMs();
    return [...this.#slow, ...this.#budget]
      .map((job) => ({ pod: job.inspection.pod, ageMs: now - job.startedMs, slow: job.state === 'slow' }))
      .sort((a, b) => b.ageMs - a.ageMs);
  }

  /** Hands in an inspection. The caller keeps to one at a time per pod. */
  submit<T>(inspection: Inspection<T>): InspectionHandle<T> {
    const queue = this.#queueOf(inspection);
    const job = new Job(inspection, queue);
    if (inspection.knownSlow) job.leaveBudget();
    queue.push(job);
    this.#fill();
    return {
      result: job.result as Promise<T>,
      budgetEnd: job.budgetEnd,
      hurry: () => this.#hurry(job),
      cancel: (reason) => this.#end(job, { error: reason, isCancelled: true }, reason),
    };
  }

  #queueOf({ knownSlow, urgent, whenIdle }: Inspection<unknown>): InspectionQueue<Job> {
    if (whenIdle === true) return this.#whenIdle;
    if (knownSlow) return this.#retries;
    return urgent ? this.#urgent : this.#normal;
  }

  #hurry(job: Job): void {
    if (job.waitsIn !== this.#normal) return;
    job.waitsIn = this.#urgent;
    this.#normal.left();
    this.#urgent.push(job);
  }

  #fill(): void {
    while (this.#budget.size < this.#options.concurrency) {
      const isIdle = this.#budget.size === 0;
      const job =
        this.#urgent.shift() ?? this.#normal.shift() ?? (isIdle ? this.#whenIdle.shift() : undefined);
      if (job === undefined) break;
      this.#begin(job, 'budget');
    }
    while (this.#slow.size < this.#options.slowLimit) {
      const job = this.#retries.shift();
      if (job === undefined) break;
      this.#begin(job, 'slow');
    }
  }

  #begin(job: Job, state: 'budget' | 'slow'): void {
    const { clock, slowAfterMs, deadlineMs } = this.#options;
    job.state = state;
    job.waitsIn = undefined;
    job.startedMs = clock.monotonicMs();
    job.wasSlow = state === 'slow';
    (state === 'budget' ? this.#budget : this.#slow).add(job);
    job.timer =
      state === 'budget'
        ? clock.setTimer(slowAfterMs, () => this.#moveOut(job), { unref: true })
        : this.#startDeadline(job, deadlineMs);
    // A `run` that throws before its first await must end like any other.
    const run = async (): Promise<unknown> => await job.inspection.run(job.controller.signal);
    run().then(
      (value) => this.#answered(job, { value }),
      (error: unknown) =>
        this.#answered(job, { error: error instanceof Error ? error : new Error(String(error)) }),
    );
  }

  #answered(job: Job, outcome: Outcome): void {
    if (job.state === 'ended') return;
    // It counts as in time and cannot be displaced any more, however long the turns before its own take.
    job.timer?.cancel();
    this.#slow.delete(job);
    job.state = 'answered';
    this.#ends.run(() => this.#end(job, outcome));
  }

  /** Moves an inspection out of the budget: nobody waits for it any longer. */
  #moveOut(job: Job): void {
    if (job.state !== 'budget') return;
    if (job.inspection.whenIdle === true) {
      this.#expire(job, this.#options.slowAfterMs);
      return;
    }
    const oldest = this.#slow.size >= this.#options.slowLimit ? this.#findOldestSlow() : undefined;
    // Take the place before the oldest one's is freed: otherwise an inspection waiting for a place outside
    // would get it.
    this.#budget.delete(job);
    this.#slow.add(job);
    job.state = 'slow';
    job.wasSlow = true;
    const elapsed = this.#options.clock.monotonicMs() - job.startedMs;
    job.timer = this.#startDeadline(job, Math.max(LEAST_LEFT_MS, this.#options.deadlineMs - elapsed));
    job.leaveBudget();
    if (oldest === undefined) this.#fill();
    else this.#displace(oldest);
  }

  #startDeadline(job: Job, delayMs: number): ClockTimer {
    return startFairDeadline({
      clock: this.#options.clock,
      deadlineMs: delayMs,
      unref: true,
      onExpired: () => this.#expire(job, this.#options.deadlineMs),
    });
  }

  #expire(job: Job, afterMs: number): void {
    const { pod } = job.inspection;
    const error = new PodloopError(
      'INSPECTION_DEADLINE',
      `status of pod ${formatPod(pod)} (${pod.uid}) did not arrive within ${afterMs} ms`,
    );
    this.#end(job, { error }, error);
  }

  #findOldestSlow(): Job | undefined {
    let oldest: Job | undefined;
    for (const job of this.#slow) if (oldest === undefined || job.startedMs < oldest.startedMs) oldest = job;
    return oldest;
  }

  #displace(job: Job): void {
    this.#displaced++;
    const { pod } = job.inspection;
    const error = new PodloopError(
      'INSPECTION_DISPLACED',
      `status of pod ${formatPod(pod)} (${pod.uid}) was given up: ${this.#options.slowLimit} slower calls are the most at a time`,
    );
    this.#end(job, { error }, error);
  }

  #end(job: Job, outcome: Outcome, abortReason?: Error): void {
    if (job.state === 'ended') return;
    if (job.state !== 'queued') this.#publish(job, outcome);
    const queue = job.waitsIn;
    job.state = 'ended';
    job.waitsIn = undefined;
    queue?.left();
    job.timer?.cancel();
    this.#budget.delete(job);
    this.#slow.delete(job);
    if ('error' in outcome) job.reject(outcome.error);
    else job.resolve(outcome.value);
    job.leaveBudget();
    if (abortReason !== undefined) job.controller.abort(abortReason);
    this.#fill();
  }

  #publish(job: Job, outcome: Outcome): void {
    if (
      !isHeard(this.#options.channels, inspectionEnded) ||
      ('isCancelled' in outcome && outcome.isCancelled === true)
    )
      return;
    publishTo(this.#options.channels, inspectionEnded, {
      pod: job.inspection.pod,
      durationMs: this.#options.clock.monotonicMs() - job.startedMs,
      wasSlow: job.wasSlow,
      error: 'error' in outcome ? outcome.error.message : undefined,
    });
  }
}
