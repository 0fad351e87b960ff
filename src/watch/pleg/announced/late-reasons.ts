import { type ObservedContainer, type PodStatus, type Runtime } from '../../observed/runtime.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type PodLifecycleEvent } from '../events.js';
import { type InspectionHandle, type InspectionPool } from '../inspection/inspection-pool.js';
import { mayBeMemoryKill, OOM_KILLED, withMemoryKills } from './memory-kills.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';

/** What {@link LateReasons} work with. */
export interface LateReasonsOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly pool: InspectionPool;
  /** Hands events to every subscriber; synchronous. */
  readonly deliver: (events: readonly PodLifecycleEvent[]) => void;
}

/**
 * Nobody is asked about an end before it is so old, in milliseconds. The reason is there within a few; but from one relist to the next,
 * each of which may find more ends of one and the same kill, it is a little more than a second.
 */
const ASK_AFTER_MS = 2_000;
/** Where ends come without such a pause between them the first is asked about after so long, in milliseconds. */
const ASK_AT_LATEST_MS = 10_000;
/** Pods with ends that are to be asked about; more are not. */
const POD_LIMIT = 4_096;

interface Doubt {
  /** Monotonic milliseconds at which the last of them was told. */
  readonly toldAtMs: number;
  readonly containerIds: ReadonlySet<string>;
}

/**
 * Asks once more about containers that were killed, as the runtime may not have known yet that it was for want of memory
 * ({@link mayBeMemoryKill}). No event and no look tells of it when it does.
 *
 * It comes after everything else: only once no such end has been told for two seconds, one pod at a time, about the containers in question
 * alone, and while nothing else is inspected ({@link Inspection.whenIdle}). Each is asked about once; what hangs is given up. Nobody
 * is told of an end again: the status in the cache is put right, and a PodSync tells that it was.
 */
export class LateReasons {
  readonly #options: LateReasonsOptions;
  /** By the uid of the pod, the longest untouched first. */
  readonly #doubts = new Map<string, Doubt>();
  /** Since when there are any, in monotonic milliseconds. */
  #sinceMs = 0;
  #timer: ClockTimer | undefined;
  #underWay: InspectionHandle<PodStatus> | undefined;
  #running = false;
  #begun = 0;
  #failures = 0;

  constructor(options: LateReasonsOptions) {
    this.#options = options;
  }

  /** How often the runtime was asked. */
  get begun(): number {
    return this.#begun;
  }

  /** How many of those failed. */
  get failures(): number {
    return this.#failures;
  }

  /** What is told from now on is asked about, until stopped. */
  start(): void {
    this.#running = true;
  }

  /** Leaves neither timer nor call behind, and asks about nothing that was told before. */
  stop(reason: Error): void {
    this.#running = false;
    this.#doubts.clear();
    this.#timer?.cancel();
    this.#underWay?.cancel(reason);
  }

  /** These events have been told. */
  note(events: readonly PodLifecycleEvent[]): void {
    if (!this.#running) return;
    let hasDoubts = false;
    for (const event of events) {
      // At the first look all that ever ended is told of.
      if (event.type !== 'ContainerDied' || event.trigger === 'initial' || !mayBeMemoryKill(event)) continue;
      hasDoubts = this.#doubt(event.pod.uid, event.containerId) || hasDoubts;
    }
    if (hasDoubts) this.#wait();
  }

  #doubt(uid: string, containerId: string): boolean {
    const known = this.#doubts.get(uid);
    if (known === undefined && this.#doubts.size >= POD_LIMIT) return false;
    const toldAtMs = this.#options.clock.monotonicMs();
    if (this.#doubts.size === 0) this.#sinceMs = toldAtMs;
    this.#doubts.delete(uid);
    this.#doubts.set(uid, { toldAtMs, containerIds: new Set(known?.containerIds).add(containerId) });
    return true;
  }

  /** For a pause in which no more is told, within bounds. */
  #wait(): void {
    const { clock } = this.#options;
    const leftMs = this.#sinceMs + ASK_AT_LATEST_MS - clock.monotonicMs();
    this.#wake(Math.max(0, Math.min(ASK_AFTER_MS, leftMs)));
  }

  #wake(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(delayMs, () => this.#askNext(), { unref: true });
  }

  #askNext(): void {
    if (this.#underWay !== undefined || !this.#running) return;
    const now = this.#options.clock.monotonicMs();
    for (const [uid, { toldAtMs, containerIds }] of this.#doubts) {
      const tooYoungMs = toldAtMs + ASK_AFTER_MS - now;
      if (tooYoungMs > 0) {
        this.#sinceMs = toldAtMs;
        this.#wake(tooYoungMs);
        return;
      }
      this.#doubts.delete(uid);
      const record = this.#options.records.find(uid);
      const open = record === undefined ? [] : this.#findOpen(record, containerIds);
      if (record === undefined || open.length === 0) continue;
      this.#ask(record, open);
      return;
    }
  }

  /** Those that are still there, and of which the reason has not become known by itself. */
  #findOpen({ pod, seen }: PodRecord, containerIds: ReadonlySet<string>): ObservedContainer[] {
    // Where an inspection has failed the next one asks about everything anew; the status is empty until then.
    const { containers } = this.#options.cache.get(pod.uid).status;
    const open = containers.filter(
      (container) =>
        containerIds.has(container.id) && container.state === 'exited' && mayBeMemoryKill(container),
    );
    return seen.containers.filter(({ id }) => open.some((container) => container.id === id));
  }

  #ask(record: PodRecord, containers: readonly ObservedContainer[]): void {
    const { runtime, logger, pool } = this.#options;
    const { pod, seen } = record;
    this.#begun++;
    const handle = pool.submit({
      ...{ pod, urgent: false, knownSlow: false, whenIdle: true },
      run: async (signal) => await runtime.getPodStatus({ ...seen, sandboxes: [], containers }, signal),
    });
    this.#underWay = handle;
    const ended = handle.result.then(
      (answered) => this.#take(record, answered),
      (error: unknown) => {
        if (!this.#running) return;
        this.#failures++;
        logger.info(
          'PLEG: Second look at a killed container failed',
          { pod, podUID: pod.uid, err: error },
          2,
        );
      },
    );
    void ended.finally(() => {
      this.#underWay = undefined;
      this.#askNext();
    });
  }

  #take(record: PodRecord, answered: PodStatus): void {
    const { cache, records, clock, logger, deliver } = this.#options;
    const { pod } = record;
    const { status, error, stamp } = cache.get(pod.uid);
    if (records.find(pod.uid) !== record || error !== undefined) return;
    const corrected = withMemoryKills(status, answered.containers);
    if (corrected === status) return;
    for (const { id } of corrected.containers.filter((container) => !status.containers.includes(container))) {
      const fields = { pod, podUID: pod.uid, containerID: id, reason: OOM_KILLED };
      logger.info(
        'PLEG: A container was killed for want of memory, as the runtime tells after its end',
        fields,
        2,
      );
    }
    // Of nothing else is anything newer known.
    cache.set(pod.uid, corrected, undefined, stamp);
    const context = { pod, trigger: 'request', stamp, observedAtMs: clock.now() } as const;
    deliver([{ type: 'PodSync', ...context, folded: 0 }]);
  }
}
