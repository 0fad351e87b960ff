import { type ObservedContainer, type PodStatus, type Runtime } from '../../observed/runtime.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type PodLifecycleEvent } from '../pod-lifecycle-event.js';
import { type InspectionHandle, type InspectionPool } from '../inspection/inspection-pool.js';
import { mayBeMemoryKill, OOM_KILLED, withMemoryKills } from './memory-kills.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';

/** The state and the callbacks of {@link OomRecheck}. */
export interface OomRecheckOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly pool: InspectionPool;
  /** Delivers events to every subscriber; synchronous. */
  readonly deliver: (events: readonly PodLifecycleEvent[]) => void;
}

/**
 * How old an exit must be before its reason is checked again, in milliseconds.
 *
 * The reason is known within a few. But each relist may find more exits of the same mass kill, and the gap
 * between two relists is a little more than a second.
 */
const ASK_AFTER_MS = 2_000;
/** If exits come without such a pause, the first one is checked after this long, in milliseconds. */
const ASK_AT_LATEST_MS = 10_000;
/** Upper limit of pods with exits to check; any others are not checked. */
const POD_LIMIT = 4_096;

interface Doubt {
  /** Monotonic milliseconds at which the last of them was published. */
  readonly toldAtMs: number;
  readonly containerIds: ReadonlySet<string>;
}

/**
 * Asks the runtime once more about killed containers, as it may have learnt later that they ran out of memory
 * ({@link mayBeMemoryKill}).
 *
 * No event and no list shows that change. The checks have the lowest priority: they start once no such exit
 * was published for two seconds, handle one pod at a time and only its killed containers, and run while
 * nothing else is inspected ({@link Inspection.whenIdle}). Each container is checked once, and a call that
 * hangs is cancelled. The exit is not published again: the status in the cache is corrected, and a PodSync
 * reports that.
 */
export class OomRecheck {
  readonly #options: OomRecheckOptions;
  /** By the uid of the pod, in the order of the last update, oldest first. */
  readonly #doubts = new Map<string, Doubt>();
  /** Monotonic milliseconds since when there are any. */
  #sinceMs = 0;
  #timer: ClockTimer | undefined;
  #underWay: InspectionHandle<PodStatus> | undefined;
  #running = false;
  #begun = 0;
  #failures = 0;

  constructor(options: OomRecheckOptions) {
    this.#options = options;
  }

  /** How many checks were started. */
  get begun(): number {
    return this.#begun;
  }

  /** How many of those failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Starts checking exits that are published from now on, until stopped. */
  start(): void {
    this.#running = true;
  }

  /** Cancels timers and calls, and drops the exits noted so far. */
  stop(reason: Error): void {
    this.#running = false;
    this.#doubts.clear();
    this.#timer?.cancel();
    this.#underWay?.cancel(reason);
  }

  /** Notes events that were published. */
  note(events: readonly PodLifecycleEvent[]): void {
    if (!this.#running) return;
    let hasDoubts = false;
    for (const event of events) {
      // The first list reports everything that ever ended.
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

  /** Waits for a pause in which no more exits come, within bounds. */
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

  /** The containers that still exist and whose reason has not been corrected in another way. */
  #findOpen({ pod, seen }: PodRecord, containerIds: ReadonlySet<string>): ObservedContainer[] {
    // After a failed inspection the next one asks for everything again; until then the status is empty.
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
          'PLEG: Second inspection of a killed container failed',
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
        'PLEG: A container was killed for lack of memory, as the runtime reports after its end',
        fields,
        2,
      );
    }
    // Nothing else is known to be newer.
    cache.set(pod.uid, corrected, undefined, stamp);
    const context = { pod, trigger: 'request', stamp, observedAtMs: clock.now() } as const;
    deliver([{ type: 'PodSync', ...context, folded: 0 }]);
  }
}
