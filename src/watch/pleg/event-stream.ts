import {
  type ObservedPod,
  type Runtime,
  type RuntimeEvent,
  type EventStatuses,
} from '../observed/runtime.js';
import { type Clock, type ClockTimer, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { isHeard, publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { runtimeEventReceived } from '#base/channels/pleg-channels.js';
import { ANNOUNCE_GRACE_MS, Announcements } from './announced/announcements.js';
import { diffPods } from './diff.js';
import { EventHints, type StreamInfo, type StreamState } from './announced/event-hints.js';
import { HintChecks } from './announced/hint-checks.js';

/** Options of the event stream. All callbacks are synchronous. */
export interface EventStreamOptions extends Publisher {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** After how many announced changes in a row it is complete: {@link Runtime.eventsReachAll} counts for as many. */
  readonly provenAfter: number;
  /** Requests a list of this pod, or of all pods if the event did not name one. */
  readonly onHint: (uid: string | undefined) => void;
  /**
   * Called when an event says that a container of this pod has exited, with the pod's status in the event. A
   * list follows.
   */
  readonly onStopped: (uid: string, containerId: string, told: () => EventStatuses) => void;
  /** Called when the state of the stream, or the finding about its completeness, has changed. */
  readonly onChange: () => void;
  /** Called when the stream is up: whatever happened before has to be listed. */
  readonly onUp: () => void;
  /** Called when the stream is gone: another runtime may be there when it comes back. */
  readonly onDown: () => void;
}

/** Upper limit of pods with an unused status from an event; any others are inspected. */
const STATUSES_LIMIT = 4_096;

/**
 * The runtime's events as the generator uses them: hints which pod to list, checked against the lists and
 * judged for completeness.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #hints: EventHints;
  readonly #announcements: Announcements;
  readonly #checks: HintChecks;
  /** The pod status in the newest event of each pod, by uid, until it is used. */
  readonly #statuses = new Map<string, { readonly stamp: Stamp; readonly read: () => EventStatuses }>();
  /** A list with a newer stamp has seen everything from before the stream was up. */
  #upStamp: Stamp = OLDEST_STAMP;
  #sweepTimer: ClockTimer | undefined;
  #received = 0;
  #ups = 0;

  constructor(options: EventStreamOptions) {
    const { runtime, clock, logger, random, provenAfter } = options;
    this.#options = options;
    const credit = runtime.eventsReachAll === true ? provenAfter : 0;
    this.#announcements = new Announcements({ clock, onMissed: options.onChange, credit });
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

  /** How many changes were announced since the connect without a missed one between. */
  get announcedInARow(): number {
    return this.#announcements.announcedInARow;
  }

  /** Counters for metrics. */
  get stats(): { ups: number; received: number; announced: number; missed: number; contradicted: number } {
    const { announced, missed } = this.#announcements;
    const { contradicted } = this.#checks;
    return { ups: this.#ups, received: this.#received, announced, missed, contradicted };
  }

  /** Keeps the stream open until the signal aborts. Resolves at once if the runtime can never have one. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.runtime.watchEvents === undefined) return;
    try {
      await this.#hints.run(signal);
    } finally {
      this.#sweepTimer?.cancel();
      this.#sweepTimer = undefined;
    }
  }

  /** Whether a list of this pod must be compared even if it shows no change, as an event announced one. */
  expects(uid: string): boolean {
    return this.#checks.has(uid);
  }

  /** Compares two list entries of a pod with the events. */
  compare(uid: string, before: ObservedPod | undefined, now: ObservedPod | undefined): void {
    if (this.info.state === 'off') return;
    const announcedBefore = this.announcedInARow;
    for (const change of diffPods(before, now)) {
      this.#announcements.see(change);
      // No event announces this state, and maybe not the next one either.
      if (change.type === 'ContainerChanged' && change.container.state === 'unknown') {
        this.#announcements.distrust();
      }
    }
    this.#checks.compare(uid, now);
    this.#sweepSoon();
    if (this.announcedInARow !== announcedBefore) this.#options.onChange();
  }

  /** The pod status in the newest event of a pod, if it came before the list with this stamp. */
  findEventStatuses(uid: string, stamp: Stamp): EventStatuses | undefined {
    const told = this.#statuses.get(uid);
    return told === undefined || told.stamp >= stamp ? undefined : told.read();
  }

  /** Forgets the status of a pod that was used, or whose pod is gone. */
  forgetEventStatuses(uid: string): void {
    this.#statuses.delete(uid);
  }

  /** Notes that the relist with this stamp is complete. */
  relisted(stamp: Stamp): void {
    if (this.info.state === 'up' && stamp > this.#upStamp) this.#announcements.caughtUp();
  }

  /**
   * Forgets events of pods that a relist with this stamp did not show (`isThere` is false).
   *
   * Events may come after the list that showed the pod to be gone, and must not be stored for ever.
   */
  forgetAbsent(stamp: Stamp, isThere: (uid: string) => boolean): void {
    this.#checks.compareAbsent(stamp, isThere);
    for (const [uid, told] of this.#statuses)
      if (told.stamp < stamp && !isThere(uid)) this.#statuses.delete(uid);
  }

  #take(event: RuntimeEvent): void {
    this.#received++;
    if (isHeard(this.#options.channels, runtimeEventReceived)) {
      const delayMs = this.#options.clock.now() - Number(event.createdAtNs / 1_000n) / 1_000;
      const { type, containerId } = event;
      publishTo(this.#options.channels, runtimeEventReceived, { type, containerId, delayMs });
    }
    const before = this.announcedInARow;
    this.#announcements.hear(event);
    // A creation alone is not reported: the container's start, or its end, comes with an event of its own.
    if (event.type !== 'created') {
      if (event.podUid !== undefined) {
        this.#cacheStatuses(event.podUid, event);
        if (event.type === 'stopped' && event.statuses !== undefined) {
          this.#options.onStopped(event.podUid, event.containerId, event.statuses);
        }
        this.#checks.expect(event.podUid, event);
      }
      this.#options.onHint(event.podUid);
    }
    if (this.announcedInARow !== before) this.#options.onChange();
  }

  #cacheStatuses(uid: string, event: RuntimeEvent): void {
    this.#statuses.delete(uid);
    if (event.statuses === undefined || this.#statuses.size >= STATUSES_LIMIT) return;
    this.#statuses.set(uid, { stamp: this.#options.clock.stamp(), read: event.statuses });
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
        this.#statuses.clear();
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
