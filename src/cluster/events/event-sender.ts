import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { ApiError, isAnswer, type KubeClient, NoAnswerError, retryAfterMsOf } from '../client/kube-client.js';
import { RateLimit } from '../client/rate-limit.js';
import { type CorrelatedEvent } from './event-correlator.js';
import { EventQueue, type WaitingEvent } from './event-queue.js';
import { eventsPath, toCountPatch, toKubeEvent } from './kube-event.js';

/** What {@link EventSender} needs. */
export interface EventSenderOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly nodeName: string;
  /** In whose name events are written. */
  readonly component: string;
  /** Whether an event is tried until it is written or a newer one takes its place, and not only so many times. */
  readonly keepsTrying: boolean;
  /** Events a second in the long run, and at once after a pause. */
  readonly perSecond: number;
  readonly burst: number;
  /** How many different events wait at most. */
  readonly capacity: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** What became of events so far. */
export interface EventSenderStats {
  readonly created: number;
  readonly counted: number;
  /** Repeated while they waited: written once, with the higher count. */
  readonly folded: number;
  /** Given up for newer ones, as too many waited. */
  readonly overflowed: number;
  /** The API server would not have them: their namespace is gone, or it is not allowed. */
  readonly rejected: number;
  /** Given up after too many tries. */
  readonly abandoned: number;
  /** Put behind the others, as the API server failed at it; each time. */
  readonly postponed: number;
  readonly waiting: number;
}

/** client-go's. */
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const MAX_RETRY_MS = 60_000;
/** Tries at which an API server that is there fails. */
const MAX_FAILURES = 4;
/** Longer than a webhook may take unless it says so. */
const REQUEST_MS = 15_000;

/**
 * Writes events to the API server, one after the other, in the order in which they were emitted; what is repeated while it
 * waits keeps its place. Never makes anybody wait: what is too much goes, the oldest first.
 *
 * What keeps one event from being written keeps the others only when it is of the whole API server: it is not reached, or asks
 * for time. What it fails at besides (a webhook that does not answer) goes behind the others, with all of its namespace.
 */
export class EventSender {
  readonly #options: EventSenderOptions;
  readonly #limit: RateLimit;
  readonly #queue: EventQueue;
  readonly #arrived = new Wakeup();
  readonly #retry = new Wakeup();
  readonly #stats = { created: 0, counted: 0, rejected: 0, abandoned: 0, postponed: 0 };
  #isFailing = false;

  constructor(options: EventSenderOptions) {
    this.#options = options;
    const { perSecond, burst, capacity, clock, random } = options;
    this.#limit = new RateLimit({ perSecond, burst, clock });
    this.#queue = new EventQueue({ capacity, clock, random });
  }

  get stats(): EventSenderStats {
    const { folded, overflowed, size } = this.#queue;
    return { ...this.#stats, folded, overflowed, waiting: size };
  }

  /** Has it written in its time. */
  push(event: CorrelatedEvent): void {
    this.#queue.push(event);
    this.#arrived.wake();
  }

  /** The API server is there: what waits for another try is tried now. */
  retryNow(): void {
    this.#queue.endAllRests();
    this.#arrived.wake();
    if (this.#isFailing) this.#retry.wake();
  }

  /** Writes until the signal aborts; resolves then. What still waits is lost, as events of a kubelet are that stops. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const restMs = this.#queue.restMs();
        if (restMs !== 0) {
          await this.#arrived.wait(this.#options.clock, restMs, signal);
          continue;
        }
        await this.#limit.take(signal);
        // Who waited for a turn may have got newer meanwhile, or gone.
        const next = this.#queue.take();
        if (next !== undefined) await this.#send(next, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #send({ event: first, failures }: WaitingEvent, signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    let event = first;
    for (let tries = 1; ; tries++) {
      event = this.#queue.takeNewer(event);
      try {
        await this.#write(event, signal);
        if (this.#isFailing) logger.info('Events can be written again');
        this.#isFailing = false;
        this.#queue.endRest(event);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const cause = findCause(error);
        if (cause === 'refused') {
          this.#stats.rejected++;
          this.#log('Server rejected event (will not retry!)', event, error, 4);
          return;
        }
        if (cause === 'failed') {
          this.#postpone(event, failures + 1, error);
          return;
        }
        if (!this.#isFailing) this.#log('Unable to write event (may retry after sleeping)', event, error);
        this.#isFailing = true;
        if (tries === MAX_TRIES && !this.#options.keepsTrying) {
          this.#abandon(event, error);
          return;
        }
        const askedMs = retryAfterMsOf(error);
        // The first by chance, so that not all nodes come at once to a server that is back.
        const delayMs = tries === 1 ? RETRY_MS * random() : RETRY_MS;
        const waitMs = Math.max(delayMs, Math.min(askedMs, MAX_RETRY_MS));
        await this.#retry.wait(clock, waitMs, signal);
      }
    }
  }

  #postpone(event: CorrelatedEvent, failures: number, error: unknown): void {
    this.#queue.rest(event);
    if (failures === MAX_FAILURES && !this.#options.keepsTrying) {
      this.#abandon(event, error);
      return;
    }
    this.#stats.postponed++;
    this.#log('Unable to write event (others go first)', event, error, 4);
    this.#queue.putBehind(event, failures);
  }

  #abandon(event: CorrelatedEvent, error: unknown): void {
    this.#stats.abandoned++;
    this.#log('Unable to write event (retry limit exceeded!)', event, error, 4);
  }

  async #write({ event, record }: CorrelatedEvent, signal: AbortSignal): Promise<void> {
    if (record.isStored) {
      try {
        await this.#patch(event, signal);
        return;
      } catch (error) {
        // API servers forget events after an hour.
        if (!isAnswer(error, 404)) throw error;
        record.isStored = false;
      }
    }
    const { client, nodeName, component } = this.#options;
    const body = toKubeEvent(event, nodeName, component);
    try {
      const path = eventsPath(event.object);
      await client.request({ method: 'POST', path, body, timeoutMs: REQUEST_MS, signal });
      record.isStored = true;
      this.#stats.created++;
    } catch (error) {
      // An earlier try got there, though its answer did not get here.
      if (!(isAnswer(error, 409) && error.reason === 'AlreadyExists')) throw error;
      record.isStored = true;
      await this.#patch(event, signal);
    }
  }

  async #patch(event: CorrelatedEvent['event'], signal: AbortSignal): Promise<void> {
    const path = `${eventsPath(event.object)}/${encodeURIComponent(event.name)}`;
    const body = toCountPatch(event);
    await this.#options.client.request({ method: 'PATCH', path, body, timeoutMs: REQUEST_MS, signal });
    this.#stats.counted++;
  }

  #log(message: string, { event }: CorrelatedEvent, error: unknown, level = 2): void {
    const { object, reason } = event;
    const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
    this.#options.logger.info(message, { object: name, reason, err: messageOf(error) }, level);
  }
}

/**
 * What kept an event from being written: the API server was not reached, asks for time or does not know the node just now
 * (`away`); it was there and failed at this one (`failed`); or it will not have it (`refused`).
 */
function findCause(error: unknown): 'away' | 'failed' | 'refused' {
  // Whoever is not there takes no connection, which ends sooner. That one is gone at the other end of a connection that is up shows
  // by a ping within 45 s: until then this costs each event one or two of its tries.
  if (error instanceof NoAnswerError) return 'failed';
  if (!(error instanceof ApiError)) return 'away';
  const { code } = error;
  const isPassing = code === 408 || code === 429 || code >= 500;
  if (code === 401 || code === 503 || (isPassing && retryAfterMsOf(error) > 0)) return 'away';
  return isPassing ? 'failed' : 'refused';
}
