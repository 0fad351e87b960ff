/**
 * The one loop in which everything that may change a pod comes together.
 *
 * In: changes from the sources, lifecycle events, results of probes, and time (pods due for another sync,
 * housekeeping). Out: calls of the handlers, which pass them on to the pod workers. The loop never waits for
 * a pod: it decides what to sync, and the workers do so in parallel.
 *
 * ```
 * updates ──────┐ one at a time                                ┌─► handlePodAdditions, …Updates, …Removes, …Reconcile
 * events ───────┼ folded per pod ──► slices of about 10 ms ────┼─► handlePodSyncs, dead containers
 * probes ───────┤ one at a time       while nothing is wrong   ├─► readiness, handlePodSyncs
 * 1 s, 2 s ─────┘                                              └─► handlePodSyncs, handlePodCleanups
 * ```
 *
 * While the runtime is not ready or a named health check fails, the loop hands nothing on. It logs why, and
 * tries again after 100 ms, doubling to 5 s, or as soon as it is notified that all may be well. It always
 * reads events, whatever the health of their publishers. It assumes that sources and probes fold what is not
 * read, so that waiting loses nothing.
 *
 * Source: the kubelet's sync loop, as operators know it from its log.
 *
 * @module
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { type PodLifecycleEvent } from '#watch';
import { type ProbeResult } from '../../probes/probe-result.js';
import { Backoff } from '#base/async/backoff.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { readUntilAborted } from '#base/async/read-until-aborted.js';
import { Wakeup } from '#base/async/wakeup.js';
import { formatErrors } from './runtime-state.js';
import { SyncLoopEvents } from './sync-loop-events.js';
import { Handoff } from './sync-loop-handoff.js';
import { type SyncLoopOptions } from './sync-loop-ports.js';
import { SyncLoopWork } from './sync-loop-work.js';

/** The present state of the loop. */
export interface SyncLoopState {
  /** Milliseconds since the loop last did something, or found nothing to do; undefined before. */
  readonly lastActiveAgoMs: number | undefined;
  /** Why no pod is synced; empty when pods are synced. */
  readonly errors: readonly string[];
  /** Pods with events that wait to be handled. */
  readonly podsWithEvents: number;
  /** Events that were folded into a request to sync every pod. */
  readonly foldedEvents: number;
  /** Pods that nobody wants yet, with events from before every source was read. */
  readonly podsWithEarlyEvents: number;
  /** How many of those events were dropped. */
  readonly foldedEarlyEvents: number;
  /** The longest time that the loop blocked the event loop, in milliseconds. */
  readonly longestSliceMs: number;
}

/** How long the first answers may take before it is an error that no pod is synced. */
const FIRST_ANSWERS_MS = 3_000;

/** See the comment of this module. */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #logger: Logger;
  readonly #wakeup = new Wakeup();
  readonly #recovery = new Wakeup();
  readonly #events: SyncLoopEvents;
  readonly #updates = new Handoff<PodUpdate>({ onArrival: () => this.#wakeup.wake() });
  readonly #probeResults = new Handoff<ProbeResult>({ onArrival: () => this.#wakeup.wake() });
  readonly #backoff = new Backoff({ initialMs: 100, maxMs: 5_000 });
  readonly #work: SyncLoopWork;
  #lastActiveMs: number | undefined;
  #longestSliceMs = 0;
  #isHeldUp = false;
  #firstHeldUpMs: number | undefined;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#events = new SyncLoopEvents({ podCapacity: options.podCapacity ?? 10_000 });
    const inputs = { updates: this.#updates, events: this.#events, probeResults: this.#probeResults };
    this.#work = new SyncLoopWork(options, inputs);
  }

  /** The state for health checks, metrics and debug pages. */
  state(): SyncLoopState {
    const { clock, runtimeState } = this.#options;
    return {
      lastActiveAgoMs:
        this.#lastActiveMs === undefined ? undefined : clock.monotonicMs() - this.#lastActiveMs,
      errors: runtimeState.errors(),
      podsWithEvents: this.#events.size,
      foldedEvents: this.#events.folded,
      podsWithEarlyEvents: this.#work.early.size,
      foldedEarlyEvents: this.#work.early.folded,
      longestSliceMs: this.#longestSliceMs,
    };
  }

  /** Makes housekeeping due: a pod has ended, and another one waits for its place. */
  housekeepSoon(): void {
    this.#work.housekeepSoon();
    this.#wakeup.wake();
  }

  /** The runtime has answered or the generator has listed: what blocked the syncs may be over. */
  recoverSoon(): void {
    if (this.#isHeldUp && this.#options.runtimeState.errors().length === 0) this.#recovery.wake();
  }

  /**
   * Syncs these pods soon, as something that they depend on has changed; repeated requests fold into one
   * sync.
   */
  syncSoon(uids: Iterable<string>): void {
    this.#work.syncSoon(uids);
    this.#wakeup.wake();
  }

  /** Runs until the signal aborts, then resolves and reads nothing more. */
  async run(signal: AbortSignal): Promise<void> {
    const { updates, events, probeResults } = this.#options;
    this.#logger.info('Starting the sync loop', {}, 2);
    const stopping = linkAbort(signal);
    const failures: unknown[] = [];
    const fail = (error: unknown): void => {
      // After the abort, errors that it causes are no failures.
      if (stopping.signal.aborted) return;
      failures.push(error);
      stopping.abort(error);
    };
    void this.#updates.offerAll(updates(stopping.signal), stopping.signal).catch(fail);
    void this.#readEvents(events, stopping.signal).catch(fail);
    void this.#probeResults.offerAll(probeResults, stopping.signal).catch(fail);
    await this.#runSlices(stopping.signal).catch(fail);
    stopping.unlink();
    // Without one of its readers the loop would be blind without a notice.
    if (failures.length > 0) throw failures[0];
  }

  async #readEvents(events: AsyncIterable<PodLifecycleEvent>, signal: AbortSignal): Promise<void> {
    for await (const event of readUntilAborted(events, signal)) {
      this.#events.push(event);
      this.#wakeup.wake();
    }
  }

  async #runSlices(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#runSlice(signal);
  }

  /** Whether nothing has failed: the first answers are on their way, and not late. */
  #isJustStarting(): boolean {
    const { clock, runtimeState } = this.#options;
    this.#firstHeldUpMs ??= clock.monotonicMs();
    return runtimeState.isPending() && clock.monotonicMs() - this.#firstHeldUpMs < FIRST_ANSWERS_MS;
  }

  /** Works for one slice or waits for work; if it may not work, logs why and waits a little. */
  async #runSlice(signal: AbortSignal): Promise<void> {
    const { clock, runtimeState, sliceMs = 10, yieldToLoop = nextTurn } = this.#options;
    const errors = runtimeState.errors();
    if (errors.length > 0) {
      if (!this.#isJustStarting()) {
        this.#logger.error('Skipping pod synchronization', formatErrors(errors));
      }
      this.#isHeldUp = true;
      await this.#recovery.wait(clock, this.#backoff.nextMs(), signal);
      return;
    }
    this.#isHeldUp = false;
    this.#backoff.reset();
    const startedMs = clock.monotonicMs();
    this.#lastActiveMs = startedMs;
    let worked: boolean;
    let tookMs: number;
    do {
      worked = this.#work.doSome();
      tookMs = clock.monotonicMs() - startedMs;
    } while (worked && tookMs < sliceMs);
    this.#longestSliceMs = Math.max(this.#longestSliceMs, tookMs);
    if (worked) await yieldToLoop();
    else await this.#wakeup.wait(clock, this.#work.untilNextTimerMs(), signal);
  }
}
