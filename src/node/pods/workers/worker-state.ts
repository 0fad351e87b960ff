import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';

/**
 * Where a pod is in its life on this node.
 *
 * ```
 *             first sync            kill, deletion, orphaned        syncPod has returned
 *   waiting ─────────────► syncing ─────────────► stopping ─────────────► terminating
 *      │                      │                       ▲                       ▲    │
 *      └──────────────────────┼───────────────────────┘                       │    │ no container runs
 *                             └───────────────────────────────────────────────┘    ▼
 *                               every container ended for good                terminated
 *                                                                                  │ all given back
 *                       forgotten ◄──────────────────────────────── finished ◄─────┘
 *                                 syncKnownPods: no longer wanted, or wanted again
 * ```
 *
 * - `waiting`: known, and no sync of it has begun.
 * - `syncing`: syncPod is called again and again.
 * - `stopping`: it is to end, and the syncPod that was under way may still be.
 * - `terminating`: no syncPod is called any more, so no new container can start; the running ones are being ended.
 * - `terminated`: no container runs.
 * - `finished`: nothing is left to do. A pod that only the runtime knew comes here right from `terminating`.
 *
 * No way leads back: a pod that is to live again is forgotten first.
 */
export type WorkerPhase = 'waiting' | 'syncing' | 'stopping' | 'terminating' | 'terminated' | 'finished';

/** All edges. */
export const WORKER_EDGES: Readonly<Record<WorkerPhase, readonly WorkerPhase[]>> = {
  waiting: ['syncing', 'stopping'],
  syncing: ['stopping', 'terminating'],
  stopping: ['terminating'],
  terminating: ['terminated', 'finished'],
  terminated: ['finished'],
  finished: [],
};

/** The operation in each phase, by the kubelet's names. */
export type WorkType = 'SyncPod' | 'TerminatingPod' | 'TerminatedPod';

/** The operation of a phase; `finished` has none, and counts as terminated. */
export function workTypeOf(phase: WorkerPhase): WorkType {
  switch (phase) {
    case 'waiting':
    case 'syncing':
      return 'SyncPod';
    case 'stopping':
    case 'terminating':
      return 'TerminatingPod';
    case 'terminated':
    case 'finished':
      return 'TerminatedPod';
  }
}

/** What {@link WorkerState} needs. */
export interface WorkerStateOptions {
  readonly uid: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The phase of one pod; only one guarded transition changes it. */
export class WorkerState {
  readonly #options: WorkerStateOptions;
  readonly #enteredAtMs = new Map<WorkerPhase, number>();
  #phase: WorkerPhase = 'waiting';

  constructor(options: WorkerStateOptions) {
    this.#options = options;
    this.#enteredAtMs.set('waiting', options.clock.monotonicMs());
  }

  get phase(): WorkerPhase {
    return this.#phase;
  }

  /** Monotonic milliseconds at which the phase was entered; undefined if it was not. */
  enteredAtMs(phase: WorkerPhase): number | undefined {
    return this.#enteredAtMs.get(phase);
  }

  /** A sync of it has started at some time. */
  get isStarted(): boolean {
    return this.#enteredAtMs.has('syncing');
  }

  /** It is to end, or has ended. A sync may still be under way. */
  get isTerminationRequested(): boolean {
    return this.#phase !== 'waiting' && this.#phase !== 'syncing';
  }

  /** No new container of it can start. */
  get isTerminationStarted(): boolean {
    return this.isTerminationRequested && this.#phase !== 'stopping';
  }

  /** None of its containers runs. */
  get isTerminated(): boolean {
    return this.#phase === 'terminated' || this.#phase === 'finished';
  }

  /** Nothing is left to do. */
  get isFinished(): boolean {
    return this.#phase === 'finished';
  }

  /** Moves to `to` if the phase is one of `from` and an edge leads there; returns whether it moved. */
  transition(from: readonly WorkerPhase[], to: WorkerPhase): boolean {
    if (!from.includes(this.#phase) || !WORKER_EDGES[this.#phase].includes(to)) return false;
    this.#options.logger.info(
      'Pod worker changes phase',
      { podUID: this.#options.uid, from: this.#phase, to },
      4,
    );
    this.#phase = to;
    this.#enteredAtMs.set(to, this.#options.clock.monotonicMs());
    return true;
  }
}
