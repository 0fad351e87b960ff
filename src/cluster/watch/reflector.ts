/**
 * Keeps somebody in step with a collection of an API server: first all of it, then every change, for ever.
 *
 * In: the collection, through a {@link KubeClient}. Out: {@link ReflectorSink}, which gets all there is (`replace`)
 * and then each change in the order in which the server made them. Nothing is kept here but the resource version: who
 * wants a copy keeps one.
 *
 * It assumes nothing of the connection. A watch that ended is taken up where it stopped; when the server no longer knows
 * that place, all is listed again, and what is missing from that list is gone. While the server is away, nothing is delivered.
 *
 * Nor does it take silence for peace. A server whose data were restored from a backup counts its versions from there again,
 * and shows nothing to who watches from a later one, without an error, until it has come as far. So after a watch in which
 * nothing came, not even how far the server is, all is listed: of no older version than what was seen, which costs a
 * server little; and where it has not got there, whatever is newest. A server that never says how far it is gives such a
 * list every 150 s.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { readUntilAborted } from '#base/async/read-until-aborted.js';
import { Wakeup } from '#base/async/wakeup.js';
import { isTooNew, type KubeClient, retryAfterMsOf, type WatchEvent } from '../client/kube-client.js';
import { type KubeObject } from './kube-list.js';
import { isGone, listCollection } from './list-collection.js';

/** Who is kept in step. Called one at a time; must not throw. */
export interface ReflectorSink<T> {
  /** This is all there is, as of `resourceVersion`: what is not among it is gone. */
  replace(items: readonly T[], resourceVersion: string): void;
  /** It is new, or has changed. The same version may come twice. */
  upsert(item: T): void;
  /** It is gone; this is how it was last. It may never have been delivered. */
  delete(item: T): void;
}

/** What a {@link Reflector} needs. */
export interface ReflectorOptions<T> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly sink: ReflectorSink<T>;
  /** Of the collection, as in `/api/v1/pods`. */
  readonly path: string;
  /** `fieldSelector`, `labelSelector`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Only the object of that name: all that NodeRestriction allows for Secrets and ConfigMaps. */
  readonly name?: string;
  /**
   * The first list is of no older version: that of what was known before; empty: the newest there is. Of `0`, unless told,
   * an API server gives what it has at hand, and one that lags behind others may give what was long ago.
   */
  readonly since?: string;
  /** Its requests go before others. */
  readonly isUrgent?: boolean;
  readonly logger?: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** What a {@link Reflector} has been through. */
export interface ReflectorStats {
  /** Lists that were answered. */
  readonly lists: number;
  /** Watches that were opened. */
  readonly watches: number;
  /** Changes that were handed out. */
  readonly changes: number;
  readonly bookmarks: number;
  /** Requests and watches that failed. */
  readonly failures: number;
  /** Times that the server no longer knew the place, and all was listed again. */
  readonly expired: number;
  /** Events and objects that made no sense, and were left out. */
  readonly ignored: number;
}

/** How a {@link Reflector} gets on. */
export interface FollowedState {
  /** The sink knows all there is, and nothing fails. */
  readonly isInStep: boolean;
  /** Why it is not, where something has failed. */
  readonly problem?: string;
  readonly stats: ReflectorStats;
}

const FIRST_DELAY_MS = 800;
const MAX_DELAY_MS = 30_000;
/** As long without a failure, and the next one counts as the first again. */
const CALM_MS = 120_000;
const SHORTEST_WATCH_S = 300;
/** How much later than the server was asked to we end a watch ourselves. */
const WATCH_GRACE_MS = 30_000;
/** The server sends a bookmark each minute: a connection that says nothing for as long is taken for dead. */
const MAX_SILENCE_MS = 150_000;
/** Watches that were open for so long, and never said anything, may be of a server that was restored. A timer may be early. */
const DOUBTED_MS = MAX_SILENCE_MS - 1_000;
/** A watch that ends sooner, with nothing in it, is a failure: it would be opened again and again. */
const VERY_SHORT_MS = 1_000;
/** A watch that the server has agreed to and that has not failed for so long is up: the next failure is the first again. */
const SURELY_UP_MS = 5_000;

const TYPES: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'];

/** Follows one collection, or one object of it. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #query: Readonly<Record<string, string>>;
  readonly #logger: Logger;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #retry = new Wakeup();
  #isWaiting = false;
  #failedAtMs = -Infinity;
  /** Where to go on watching; undefined when everything has to be listed first. */
  #place: string | undefined;
  /** The server does not know the newest version that we do: ask for whatever is newest. */
  #isPlaceLost = false;
  #lastSeen: string;
  #eventsSinceList = 0;
  #listedAtMs = -Infinity;
  /** For how long the watches were open that have said nothing, since the last word or list. */
  #silentMs = 0;
  /** All is to be listed, whatever is known of the place. */
  #isDoubted = false;
  /** That it is to be, when it is time. */
  #doubtLater: ClockTimer | undefined;
  #endWatch: (() => void) | undefined;
  #hasSynced = false;
  #problem: Error | undefined;
  readonly #stats = {
    ...{ lists: 0, watches: 0, changes: 0, bookmarks: 0 },
    ...{ failures: 0, expired: 0, ignored: 0 },
  };

  constructor(options: ReflectorOptions<T>) {
    const { query = {}, name, logger = SILENT_LOGGER, random = Math.random } = options;
    this.#options = options;
    this.#lastSeen = options.since ?? '0';
    this.#query = name === undefined ? query : { ...query, fieldSelector: `metadata.name=${name}` };
    this.#logger = logger;
    this.#random = random;
    this.#backoff = new Backoff({
      // Half of it by chance: 0.8 to 1.6 s at first, and never more than 30 s.
      ...{ initialMs: 2 * FIRST_DELAY_MS, maxMs: MAX_DELAY_MS, jitter: 0.5, random },
    });
  }

  /** Whether the sink has received a full list. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Why it is not in step now; undefined when it is. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** The newest version that was delivered to the sink; before the first list the configured one. */
  get resourceVersion(): string {
    return this.#lastSeen;
  }

  /** As of now. */
  get state(): FollowedState {
    const problem = this.#problem;
    return {
      isInStep: this.#hasSynced && problem === undefined,
      ...(problem === undefined ? {} : { problem: problem.message }),
      stats: this.stats,
    };
  }

  /** Counters as of now. */
  get stats(): ReflectorStats {
    return { ...this.#stats };
  }

  /** Does not wait any longer for the next try, for instance because something else got through to the server. */
  retryNow(): void {
    if (this.#isWaiting) this.#retry.wake();
  }

  /**
   * Lists anew, as what the server has answered elsewhere does not go with what its watch tells. Not more often than what
   * fails is tried again: what was listed just now is listed once more when it is time, as it may be of before that answer.
   */
  listAgain(): void {
    const { clock } = this.#options;
    const leftMs = this.#listedAtMs + MAX_DELAY_MS - clock.monotonicMs();
    if (leftMs > 0) this.#doubtLater ??= clock.setTimer(leftMs, () => this.#doubt(), { unref: true });
    else this.#doubt();
  }

  /** Follows until the signal aborts; then it resolves. One call at a time. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#follow(signal);
    } finally {
      this.#forgetDoubt();
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#isDoubted || this.#silentMs >= DOUBTED_MS) this.#forgetPlace();
        if (this.#place === undefined) await this.#list(signal);
        else await this.#watch(this.#place, signal);
      } catch (error) {
        if (isAborted(signal)) return;
        if (!this.#settle(error)) await this.#pause(error, signal);
      }
    }
  }

  #doubt(): void {
    this.#doubtLater = undefined;
    this.#isDoubted = true;
    this.#endWatch?.();
  }

  #forgetDoubt(): void {
    this.#doubtLater?.cancel();
    this.#doubtLater = undefined;
    this.#isDoubted = false;
  }

  /** What was seen stays known: nothing older is believed unless the server has never got as far. */
  #forgetPlace(): void {
    const { path } = this.#options;
    const because = this.#isDoubted ? 'answers do not go with the watch' : 'the watch says nothing';
    this.#logger.info('Listing anew', { path, ...this.#query, because }, 2);
    this.#place = undefined;
    [this.#isDoubted, this.#silentMs] = [false, 0];
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, clock, path, sink, isUrgent = false } = this.#options;
    const resourceVersion = this.#isPlaceLost ? '' : this.#lastSeen;
    const request = { path, query: this.#query, resourceVersion, isUrgent, signal };
    const listed = await listCollection<T>(client, request);
    signal.throwIfAborted();
    const items = listed.items.filter(isObject);
    this.#stats.ignored += listed.items.length - items.length;
    this.#stats.lists++;
    this.#logger.info('Listed', { path, ...this.#query, items: items.length }, 4);
    sink.replace(items, listed.resourceVersion);
    [this.#lastSeen, this.#place] = [listed.resourceVersion, listed.resourceVersion];
    [this.#isPlaceLost, this.#hasSynced, this.#problem] = [false, true, undefined];
    [this.#eventsSinceList, this.#silentMs] = [0, 0];
    this.#forgetDoubt();
    this.#listedAtMs = clock.monotonicMs();
  }

  async #watch(since: string, signal: AbortSignal): Promise<void> {
    const { client, clock, path, isUrgent = false } = this.#options;
    const timeoutSeconds = Math.floor(SHORTEST_WATCH_S * (1 + this.#random()));
    const query = { ...this.#query, resourceVersion: since, timeoutSeconds: String(timeoutSeconds) };
    const link = linkAbort(signal);
    const end = (): void => link.abort();
    const timers: ClockTimer[] = [];
    let silence: ClockTimer | undefined;
    const hear = (): void => {
      silence?.cancel();
      silence = clock.setTimer(MAX_SILENCE_MS, end, { unref: true });
    };
    // Never: as short as it gets.
    let openedAtMs = Infinity;
    // Until the server has agreed the client sees to it that this takes no longer than it may.
    const onOpen = (): void => {
      openedAtMs = clock.monotonicMs();
      this.#problem = undefined;
      this.#stats.watches++;
      timers.push(
        clock.setTimer(timeoutSeconds * 1000 + WATCH_GRACE_MS, end, { unref: true }),
        clock.setTimer(SURELY_UP_MS, () => this.#backoff.reset(), { unref: true }),
      );
      hear();
    };
    let events = 0;
    this.#endWatch = end;
    try {
      const watching = client.watch<T>({ path, query, isUrgent, onOpen, signal: link.signal });
      for await (const event of readUntilAborted(watching, link.signal)) {
        events++;
        this.#eventsSinceList++;
        this.#silentMs = 0;
        hear();
        this.#take(event);
      }
    } finally {
      for (const timer of [...timers, silence]) timer?.cancel();
      this.#endWatch = undefined;
      link.abort();
      link.unlink();
      // Also where something in between ends watches sooner than we do.
      if (events === 0) this.#silentMs += Math.max(0, clock.monotonicMs() - openedAtMs);
    }
    if (signal.aborted || this.#isDoubted) return;
    if (events === 0 && clock.monotonicMs() - openedAtMs < VERY_SHORT_MS) {
      throw new Error(`the watch of ${path} ended at once, with nothing in it`);
    }
  }

  #take({ type, object }: WatchEvent<T>): void {
    const { sink } = this.#options;
    const version = isObject(object) ? object.metadata?.resourceVersion : undefined;
    if (version === undefined || version === '' || !TYPES.includes(type)) {
      this.#stats.ignored++;
      return;
    }
    if (type === 'BOOKMARK') this.#stats.bookmarks++;
    else if (type === 'DELETED') sink.delete(object);
    else sink.upsert(object);
    if (type !== 'BOOKMARK') this.#stats.changes++;
    [this.#lastSeen, this.#place] = [version, version];
  }

  /** Whether the error says what to do next, so that there is no need to wait. */
  #settle(error: unknown): boolean {
    const wasWatching = this.#place !== undefined;
    if (!isGone(error) && (wasWatching || !isTooNew(error))) return false;
    this.#stats.expired++;
    this.#place = undefined;
    this.#logger.info('The server does not know the version', { path: this.#options.path, wasWatching }, 2);
    // A list that is to be no older than what was seen last needs no history: it is tried before the costly one. Unless
    // the list before led nowhere: it would go on like this.
    if (wasWatching) {
      this.#isPlaceLost = this.#eventsSinceList === 0;
      return !this.#isPlaceLost;
    }
    const isFirst = !this.#isPlaceLost;
    this.#isPlaceLost = true;
    return isFirst;
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, path } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#failedAtMs > CALM_MS) this.#backoff.reset();
    this.#stats.failures++;
    this.#problem = error instanceof Error ? error : new Error(String(error));
    const askedMs = retryAfterMsOf(error);
    const delayMs = Math.max(this.#backoff.nextMs(), Math.min(askedMs, MAX_DELAY_MS));
    this.#failedAtMs = nowMs + delayMs;
    const what = this.#hasSynced ? 'Failed to follow' : 'Failed to list';
    this.#logger.warn(what, {
      path,
      ...this.#query,
      err: this.#problem.message,
      retryInMs: Math.round(delayMs),
    });
    this.#isWaiting = true;
    try {
      await this.#retry.wait(clock, delayMs, signal);
    } catch {
      // The signal: run() sees it.
    } finally {
      this.#isWaiting = false;
    }
  }
}

function isObject(value: unknown): value is KubeObject {
  if (typeof value !== 'object' || value === null) return false;
  const { metadata } = value as { readonly metadata?: unknown };
  return typeof metadata === 'object' && metadata !== null;
}

/** Asked by a function: it may have aborted while something was waited for. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
