/**
 * Ends the pods of a node in order before the machine shuts down.
 *
 * ```
 * lock of logind ─► "prepare for shutdown" ─► no pod starts ─► groups of pods end, lowest priority first ─► lock released
 *       ▲                                                                                                        │
 *       └────────────────────── cancelled: pods of manifests start again ◄───────────────────────────────────────┘
 * ```
 *
 * In: the signal of logind. Out: ends of pods, each with the shorter of its own grace period and its group's; a group waits for its pods
 * at most as long as its period. Times of the last shutdown survive a boot. It assumes that network and runtime live as long as the lock:
 * logind stops no unit before. Where logind cannot be asked, which is logged, pods end as the machine ends them.
 *
 * Source: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { linkAbort, type LinkedAbort } from '#base/async/linked-abort.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { Wakeup } from '#base/async/wakeup.js';
import { messageOf } from '#base/errors/errors.js';
import { type RecordFile } from '#base/fs/record-file.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { REJECTED_IN_SHUTDOWN, type ShutdownPeriod } from '#kube/node/shutdown-words.js';
import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type LogindPort, type ShutdownLock } from './logind.js';
import { groupByPriority, type ShutdownGroup, sumPeriods } from './shutdown-periods.js';

/** When the last shutdown began and when its pods had ended, in wall-clock milliseconds. */
export interface ShutdownTimes {
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
}

/** An event of the Node, as an agent sends it. */
export interface ShutdownEvent {
  readonly type: 'Normal';
  readonly reason: 'Shutdown';
  readonly message: string;
}

/** What {@link NodeShutdown} needs. */
export interface NodeShutdownOptions {
  /** In the order in which pods end. With none, the pods are left to the machine. */
  readonly periods: readonly ShutdownPeriod[];
  readonly logind: LogindPort;
  /** The pods of which something may run. */
  readonly pods: () => readonly NodePod[];
  /** Ends the pod; returns at once. */
  readonly end: (pod: NodePod, gracePeriodSeconds: number) => void;
  /** Resolves when nothing of a pod runs and its volumes are gone. */
  readonly whenGone: (pod: NodePod, signal: AbortSignal) => Promise<void>;
  /** Called when the machine begins to shut down, and when that is cancelled, with the pods that have ended for it. */
  readonly onChange: (isShuttingDown: boolean, ended: readonly NodePod[]) => void;
  readonly onEvent: (event: ShutdownEvent) => void;
  readonly record: Pick<RecordFile<ShutdownTimes>, 'read' | 'write'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between attempts to reach logind, in milliseconds. */
const RETRY_MS = { initialMs: 1_000, maxMs: 60_000 };
/** logind reads its changed configuration within a moment: pauses between looks, in milliseconds. */
const DELAY_PAUSES_MS = [100, 200, 400, 800, 1_600];
/** A signal that was sent while the monitor started shows in the property, read after these pauses. */
const MISSED_PAUSES_MS = [1_000, 9_000];
/** How long the machine waits for the times of a shutdown to be on the disk. */
const NOTE_LIMIT_MS = 5_000;
/** While the machine shuts down: a logind that is restarted forgets that, and sends nothing. */
const FORGOTTEN_PAUSE_MS = 5_000;

/** See the module. */
export class NodeShutdown {
  readonly #options: NodeShutdownOptions;
  #times: ShutdownTimes = {};
  #lock: ShutdownLock | undefined;
  /** Aborts when the shutdown is cancelled; undefined while the machine does not shut down. */
  #shutdown: AbortController | undefined;
  /** The end of all pods, while it is under way. */
  #ending: Promise<void> = Promise.resolve();
  #ended: NodePod[] = [];
  #complaint = '';
  readonly #begun = new Wakeup();

  constructor(options: NodeShutdownOptions) {
    this.#options = options;
  }

  /** Of the last shutdown; empty before the first one. */
  get times(): ShutdownTimes {
    return this.#times;
  }

  /** Why no pod may start; undefined while the machine does not shut down. */
  rejection(): typeof REJECTED_IN_SHUTDOWN | undefined {
    return this.#shutdown === undefined ? undefined : REJECTED_IN_SHUTDOWN;
  }

  /** Follows logind until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { periods, clock, logger, record } = this.#options;
    try {
      this.#times = (await record.read()) ?? {};
    } catch (error) {
      logger.warn('Times of the last shutdown cannot be read', { err: messageOf(error) });
    }
    if (periods.length === 0) return;
    const backoff = new Backoff(RETRY_MS);
    while (!signal.aborted) {
      await this.#follow(() => backoff.reset(), signal).catch((error: unknown) => {
        if (!signal.aborted) this.#complain(error);
      });
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }

  /** Until the lock or the monitor is lost. */
  async #follow(onFollowing: () => void, signal: AbortSignal): Promise<void> {
    const { logind } = this.#options;
    const following = linkAbort(signal);
    const lost = new Promise<never>((_, reject) => {
      following.signal.addEventListener('abort', () => reject(following.signal.reason as Error), {
        once: true,
      });
    });
    lost.catch(() => undefined);
    try {
      // logind gives no lock once it has begun.
      if (await logind.isPreparing(following.signal)) this.#begin(signal);
      else {
        // Perhaps nobody heard that.
        this.#cancel();
        await this.#provideDelay(following.signal);
        await this.#takeLock(following);
      }
      const note = (isShuttingDown: boolean): void => {
        if (isShuttingDown) this.#begin(signal);
        else if (this.#cancel()) {
          this.#takeLock(following).catch((error: unknown) => following.abort(error));
        }
      };
      const watching = logind.watch(note, following.signal);
      await Promise.race([watching, lost, this.#compare(note, onFollowing, following.signal)]);
    } finally {
      following.abort();
      following.unlink();
      // Whatever is lost, the machine waits for the pods that end.
      await this.#ending;
      this.#lock?.release();
      this.#lock = undefined;
    }
  }

  async #takeLock(following: LinkedAbort): Promise<void> {
    const { logind, logger } = this.#options;
    const lock = await logind.lock(following.signal);
    if (following.signal.aborted) {
      lock.release();
      return;
    }
    this.#lock?.release();
    this.#lock = lock;
    this.#complaint = '';
    logger.info('The machine waits for its pods when it shuts down');
    void lock.gone.then((reason) => {
      if (reason !== undefined && this.#shutdown === undefined) following.abort(new Error(reason));
    });
  }

  /** Has logind allow as much time as all periods together take. A shorter one is used if it does not. */
  async #provideDelay(signal: AbortSignal): Promise<void> {
    const { periods, logind, clock, logger } = this.#options;
    const seconds = sumPeriods(periods);
    let delayMs = await logind.delayMs(signal);
    if (delayMs >= seconds * 1_000) return;
    try {
      await logind.raiseDelay(seconds, signal);
      for (const pauseMs of DELAY_PAUSES_MS) {
        await clock.sleep(pauseMs, signal);
        delayMs = await logind.delayMs(signal);
        if (delayMs >= seconds * 1_000) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('The time that the machine waits for pods cannot be raised', { err: messageOf(error) });
    }
    logger.warn(
      'logind waits less for pods than the shutdown grace periods take: the last pods are cut off',
      {
        ...{ wantedSeconds: seconds, inhibitDelayMaxSeconds: delayMs / 1_000 },
      },
    );
  }

  /** Asks logind for what its signals do not say. Rejects when the signal aborts. */
  async #compare(
    note: (isShuttingDown: boolean) => void,
    onFollowing: () => void,
    signal: AbortSignal,
  ): Promise<never> {
    const { logind, clock } = this.#options;
    for (const pauseMs of MISSED_PAUSES_MS) {
      await clock.sleep(pauseMs, signal);
      note(await logind.isPreparing(signal));
    }
    onFollowing();
    for (;;) {
      const isShuttingDown = this.#shutdown !== undefined;
      await this.#begun.wait(clock, isShuttingDown ? FORGOTTEN_PAUSE_MS : undefined, signal);
      if (isShuttingDown) note(await logind.isPreparing(signal));
    }
  }

  #begin(signal: AbortSignal): void {
    if (this.#shutdown !== undefined) return;
    const { onChange, onEvent, logger } = this.#options;
    const shutdown = new AbortController();
    this.#shutdown = shutdown;
    this.#begun.wake();
    logger.warn('The machine shuts down: pods end, and none starts');
    onEvent({ type: 'Normal', reason: 'Shutdown', message: 'Shutdown manager detected shutdown event' });
    onChange(true, []);
    this.#ending = this.#endAll(AbortSignal.any([shutdown.signal, signal])).catch((error: unknown) => {
      if (!shutdown.signal.aborted && !signal.aborted) logger.error('Pods do not end in order', error);
    });
  }

  /** False if the machine was not shutting down. */
  #cancel(): boolean {
    if (this.#shutdown === undefined) return false;
    const { onChange, onEvent, logger } = this.#options;
    this.#shutdown.abort();
    this.#shutdown = undefined;
    logger.warn('The shutdown of the machine is cancelled');
    const message = 'Shutdown manager detected shutdown cancellation';
    onEvent({ type: 'Normal', reason: 'Shutdown', message });
    const ended = this.#ended;
    this.#ended = [];
    onChange(false, ended);
    return true;
  }

  async #endAll(signal: AbortSignal): Promise<void> {
    const { periods, pods, clock } = this.#options;
    const lock = this.#lock;
    const groups = groupByPriority(periods, pods());
    const startedAtMs = clock.now();
    // A disk that hangs holds up no pod.
    void this.#note({ startedAtMs });
    try {
      for (const group of groups) {
        signal.throwIfAborted();
        await this.#endGroup(group, signal);
      }
    } finally {
      await settlesWithin(this.#note({ startedAtMs, endedAtMs: clock.now() }), NOTE_LIMIT_MS, clock);
      lock?.release();
    }
  }

  async #endGroup(group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { end, whenGone, clock, logger } = this.#options;
    const { priority, shutdownGracePeriodSeconds: seconds } = group;
    const left = new Set(group.pods);
    logger.info('Pods end for the shutdown', { priority, pods: left.size, gracePeriodSeconds: seconds });
    const waiting = linkAbort(signal);
    const gone = group.pods.map(async (pod) => {
      this.#ended.push(pod);
      end(pod, Math.min(seconds, pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS));
      await whenGone(pod, waiting.signal);
      left.delete(pod);
    });
    await settlesWithin(Promise.allSettled(gone), seconds * 1_000, clock);
    waiting.abort();
    waiting.unlink();
    if (left.size === 0 || signal.aborted) return;
    const names = [...left].map(({ metadata }) => formatPod(metadata));
    logger.warn('Pods have not ended in the time of their priority', { priority, pods: names });
  }

  async #note(times: ShutdownTimes): Promise<void> {
    this.#times = times;
    try {
      await this.#options.record.write(times);
    } catch (error) {
      this.#options.logger.error('Times of the shutdown cannot be written', error);
    }
  }

  #complain(error: unknown): void {
    const complaint = messageOf(error);
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    this.#options.logger.warn('The machine does not wait for its pods when it shuts down', {
      err: complaint,
    });
  }
}
