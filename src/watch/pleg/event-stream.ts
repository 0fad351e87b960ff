import { type ObservedPod, type Runtime, type RuntimeEvent, type ToldStatuses } from '../observed/runtime.js';
import { type Clock, type ClockTimer, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { runtimeEventReceived } from '#base/channels/pleg-channels.js';
import { ANNOUNCE_GRACE_MS, Announcements } from './announced/announcements.js';
import { diffPods } from './diff.js';
import { EventHints, type StreamInfo, type StreamState } from './announced/event-hints.js';
import { HintChecks } from './announced/hint-checks.js';

/** What the event stream needs and whom it tells. All callbacks are synchronous. */
export interface EventStreamOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Look at this pod; at all pods, when the event did not say which. */
  readonly onHint: (uid: string | undefined) => void;
  /** A container of this pod has ended, says an event, with what it tells of the pod. A look follows. */
  readonly onStopped: (uid: string, containerId: string, told: () => ToldStatuses) => void;
  /** The state of the stream, or what is known of its completeness, has changed. */
  readonly onChange: () => void;
  /** The stream is up: whatever happened while it was not has to be looked for. */
  readonly onUp: () => void;
  /** The stream is gone: another runtime may be there when it comes back. */
  readonly onDown: () => void;
}

/** More pods with events that nobody has looked at yet are asked about. */
const TOLD_LIMIT = 4_096;

/**
 * The runtime's events as the generator uses them: hints about where to look, checked against what the looks show,
 * and judged for their completeness.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #hints: EventHints;
  readonly #announcements: Announcements;
  readonly #checks: HintChecks;
  /** What the newest event of a pod told of it, by uid, until it was used. */
  readonly #told = new Map<string, { readonly stamp: Stamp; readonly read: () => ToldStatuses }>();
  /** A look with a newer stamp has seen everything from before the stream was up. */
  #upStamp: Stamp = OLDEST_STAMP;
  #sweepTimer: ClockTimer | undefined;
  #received = 0;
  #ups = 0;

  constructor(options: EventStreamOptions) {
    const { runtime, clock, logger, random } = options;
    this.#options = options;
    this.#announcements = new Announcements({ clock, onMissed: options.onChange });
    this.#checks = new HintChecks({ clock, lookAgain: options.onHint, onDoubt: () => this.#distrust() });
    this.#hints = new EventHints({
      runtime,
      clock,
      logger,
      random,
      onEvent: (event) => this.#take(event),
      onSkipped: () => this.#distrust(),
      onState: (state) => this.#enter(state),
    });
  }

  get info(): StreamInfo {
    return this.#hints.info;
  }

  /** Changes announced since the connect, with no missed one since. */
  get announcedInARow(): number {
    return this.#announcements.announcedInARow;
  }

  /** Counters for metrics. */
  get stats(): { ups: number; received: number; announced: number; missed: number; contradicted: number } {
    const { announced, missed } = this.#announcements;
    const { contradicted } = this.#checks;
    return { ups: this.#ups, received: this.#received, announced, missed, contradicted };
  }

  /** Keeps the stream open until the signal aborts. Resolves at once when the runtime can have none. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.runtime.watchEvents === undefined) return;
    try {
      await this.#hints.run(signal);
    } finally {
      this.#sweepTimer?.cancel();
      this.#sweepTimer = undefined;
    }
  }

  /** Whether a look at this pod is to be compared though nothing in it changed: an event said something had. */
  expects(uid: string): boolean {
    return this.#checks.has(uid);
  }

  /** A look showed a pod as `now`, the look before as `before`. */
  compare(uid: string, before: ObservedPod | undefined, now: ObservedPod | undefined): void {
    if (this.info.state === 'off') return;
    const announcedBefore = this.announcedInARow;
    for (const change of diffPods(before, now)) {
      this.#announcements.see(change);
      // No event tells of that, nor, it may be, of what comes next.
      if (change.type === 'ContainerChanged' && change.container.state === 'unknown') {
        this.#announcements.distrust();
      }
    }
    this.#checks.compare(uid, now);
    this.#sweepSoon();
    if (this.announcedInARow !== announcedBefore) this.#options.onChange();
  }

  /** What the newest event of a pod told of it, if that came before a look with this stamp. */
  findTold(uid: string, stamp: Stamp): ToldStatuses | undefined {
    const told = this.#told.get(uid);
    return told === undefined || told.stamp >= stamp ? undefined : told.read();
  }

  /** What was told of a pod has been used, or the pod is gone. */
  forgetTold(uid: string): void {
    this.#told.delete(uid);
  }

  /** A look at all pods with this stamp is complete. */
  looked(stamp: Stamp): void {
    if (this.info.state === 'up' && stamp > this.#upStamp) this.#announcements.caughtUp();
  }

  /**
   * A look at all pods, with this stamp, has shown those of which `isThere` is true. Events of others may have come after
   * the look that showed them to be gone, and are not kept for ever.
   */
  forgetAbsent(stamp: Stamp, isThere: (uid: string) => boolean): void {
    this.#checks.compareAbsent(stamp, isThere);
    for (const [uid, told] of this.#told) if (told.stamp < stamp && !isThere(uid)) this.#told.delete(uid);
  }

  #take(event: RuntimeEvent): void {
    this.#received++;
    if (runtimeEventReceived.hasSubscribers) {
      const delayMs = this.#options.clock.now() - Number(event.createdAtNs / 1_000n) / 1_000;
      const { type, containerId } = event;
      runtimeEventReceived.publish({ type, containerId, delayMs });
    }
    const before = this.announcedInARow;
    this.#announcements.hear(event);
    // A container that was created only is no news: its start, or its end, comes with an event of its own.
    if (event.type !== 'created') {
      if (event.podUid !== undefined) {
        this.#keepTold(event.podUid, event);
        if (event.type === 'stopped' && event.statuses !== undefined) {
          this.#options.onStopped(event.podUid, event.containerId, event.statuses);
        }
        this.#checks.expect(event.podUid, event);
      }
      this.#options.onHint(event.podUid);
    }
    if (this.announcedInARow !== before) this.#options.onChange();
  }

  #keepTold(uid: string, event: RuntimeEvent): void {
    this.#told.delete(uid);
    if (event.statuses === undefined || this.#told.size >= TOLD_LIMIT) return;
    this.#told.set(uid, { stamp: this.#options.clock.stamp(), read: event.statuses });
  }

  #distrust(): void {
    if (this.announcedInARow === 0) return;
    this.#announcements.distrust();
    this.#options.onChange();
  }

  #enter(state: StreamState): void {
    switch (state) {
      case 'connecting':
        this.#announcements.connected();
        break;
      case 'up':
        this.#ups++;
        this.#upStamp = this.#options.clock.stamp();
        this.#options.onUp();
        break;
      case 'off':
      case 'waiting':
      case 'unsupported':
        this.#announcements.disconnected();
        this.#checks.clear();
        this.#told.clear();
        this.#options.onDown();
        break;
    }
    this.#options.onChange();
  }

  #sweepSoon(): void {
    if (this.#announcements.awaiting === 0) return;
    this.#sweepTimer ??= this.#options.clock.setTimer(
      ANNOUNCE_GRACE_MS + 1,
      () => {
        this.#sweepTimer = undefined;
        this.#announcements.sweep();
        this.#sweepSoon();
      },
      { unref: true },
    );
  }
}
