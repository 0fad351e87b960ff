import { type Clock } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { type Logger } from '../../util/logger.js';
import { Wakeup } from '../../util/wakeup.js';
import { ApiError, isAnswer, type KubeClient, retryAfterMsOf } from '../client/kube-client.js';
import { RateLimit } from '../client/rate-limit.js';
import { type CorrelatedEvent } from './event-correlator.js';
import { eventsPath, toCountPatch, toKubeEvent } from './kube-event.js';

/** What {@link EventSender} needs. */
export interface EventSenderOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly nodeName: string;
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
  /** Told again while they waited: written once, with the higher count. */
  readonly folded: number;
  /** Given up for newer ones, as too many waited. */
  readonly overflowed: number;
  /** The API server would not have them: their namespace is gone, or it is not allowed. */
  readonly rejected: number;
  /** Given up after too many tries. */
  readonly abandoned: number;
  readonly waiting: number;
}

/** client-go's. */
const MOST_TRIES = 12;
const RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Writes events to the API server, one after the other, in the order in which they were told; what is told again while it
 * waits keeps its place. Never makes anybody wait: what is too much goes, the oldest first.
 */
export class EventSender {
  readonly #options: EventSenderOptions;
  readonly #limit: RateLimit;
  readonly #waiting = new Map<string, CorrelatedEvent>();
  readonly #arrived = new Wakeup();
  readonly #retry = new Wakeup();
  readonly #stats = { created: 0, counted: 0, folded: 0, overflowed: 0, rejected: 0, abandoned: 0 };
  #isFailing = false;

  constructor(options: EventSenderOptions) {
    this.#options = options;
    const { perSecond, burst, clock } = options;
    this.#limit = new RateLimit({ perSecond, burst, clock });
  }

  get stats(): EventSenderStats {
    return { ...this.#stats, waiting: this.#waiting.size };
  }

  /** Has it written in its time. */
  push(event: CorrelatedEvent): void {
    if (this.#waiting.has(event.key)) this.#stats.folded++;
    this.#waiting.set(event.key, event);
    if (this.#waiting.size > this.#options.capacity) {
      const [oldest] = this.#waiting.keys();
      this.#waiting.delete(oldest!);
      this.#stats.overflowed++;
    }
    this.#arrived.wake();
  }

  /** The API server is there: what waits for another try is tried now. */
  retryNow(): void {
    if (this.#isFailing) this.#retry.wake();
  }

  /** Writes until the signal aborts; resolves then. What still waits is lost, as events of a kubelet are that stops. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        if (this.#waiting.size === 0) await this.#arrived.wait(this.#options.clock, undefined, signal);
        if (this.#waiting.size === 0) continue;
        await this.#limit.take(signal);
        // Who waited for a turn may have got newer meanwhile, or gone.
        const [next] = this.#waiting.values();
        if (next !== undefined) await this.#send(next, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #send(first: CorrelatedEvent, signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    let event = first;
    for (let tries = 1; ; tries++) {
      event = this.#takeNewer(event);
      try {
        await this.#write(event, signal);
        if (this.#isFailing) logger.info('Events can be written again');
        this.#isFailing = false;
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!isWorthRetrying(error)) {
          this.#stats.rejected++;
          this.#tell('Server rejected event (will not retry!)', event, error, 4);
          return;
        }
        if (!this.#isFailing) this.#tell('Unable to write event (may retry after sleeping)', event, error);
        this.#isFailing = true;
        if (tries === MOST_TRIES) {
          this.#stats.abandoned++;
          this.#tell('Unable to write event (retry limit exceeded!)', event, error, 4);
          return;
        }
        const askedMs = retryAfterMsOf(error);
        // The first by chance, so that not all nodes come at once to a server that is back.
        const delayMs = tries === 1 ? RETRY_MS * random() : RETRY_MS;
        const waitMs = Math.max(delayMs, Math.min(askedMs, LONGEST_RETRY_MS));
        await this.#retry.wait(clock, waitMs, signal);
      }
    }
  }

  #takeNewer(event: CorrelatedEvent): CorrelatedEvent {
    const newer = this.#waiting.get(event.key) ?? event;
    this.#waiting.delete(event.key);
    return newer;
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
    const { client, nodeName } = this.#options;
    const body = toKubeEvent(event, nodeName);
    try {
      await client.request({ method: 'POST', path: eventsPath(event.object), body, signal });
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
    await this.#options.client.request({ method: 'PATCH', path, body, signal });
    this.#stats.counted++;
  }

  #tell(message: string, { event }: CorrelatedEvent, error: unknown, level = 2): void {
    const { object, reason } = event;
    const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
    this.#options.logger.info(message, { object: name, reason, err: messageOf(error) }, level);
  }
}

/** Whether another try may do better: the server was not reached, is too busy, or does not know the node just now. */
function isWorthRetrying(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  return [401, 408, 429].includes(error.code) || error.code >= 500;
}
