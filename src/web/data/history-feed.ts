import { addInSlices } from '../timeline/add-in-slices.js';
import { type TimelineSource } from '../timeline/timeline-source.js';
import { Tracks } from '../timeline/tracks.js';
import { compareIds, type JournalEntry, parseEntry } from './journal-entry.js';
import { ReconnectWaits } from './reconnect-waits.js';
import { type PodObject } from './shown-pod.js';
import { type Session } from './session.js';
import { Store } from './store.js';

/** Whether records come: `live` as they happen, `lost` while the agent or the server cannot be reached. */
export type FeedState = 'loading' | 'live' | 'lost';

/** How much is read at first; more when somebody zooms out. */
const FIRST_MS = 30 * 60_000;
/** Maximum of records: the oldest go. */
const MAX_ENTRIES = 150_000;
/** Without news for so long, everything that was there has come. */
const QUIET_MS = 400;
/** Where nothing has come yet, an agent that is busy may only be slow. */
const FIRST_QUIET_MS = 2_000;
/** An agent that has nothing to say shows every 15 s that it is there. */
const SILENCE_MS = 40_000;
/** Older records that could not be read are asked for again after that. */
const OLDER_AGAIN_MS = 10_000;
const NO_WORDS = 'the connection has ended';
/** No other words help: the server was started again, or has ended the session. */
const SESSION_OVER =
  'the session has ended. Open the link that podloop web prints now, or press Enter there for one';
/** How many more there may be before the oldest go, as a factor: to make the tracks again takes a while. */
const SLACK = 1.1;

/** The history of the node as far as it was read, and what happens from then on. */
export class HistoryFeed extends Store implements TimelineSource {
  tracks = new Tracks();
  state: FeedState = 'loading';
  /** Why it is lost. */
  problem = '';
  /** What is known begins here. */
  fromMs = Date.now() - FIRST_MS;
  /** Whether older records are being read. */
  isLoadingOlder = false;
  /** Why they could not be read the last time. */
  olderProblem = '';
  /** Whether there are more than fit. */
  isFull = false;
  readonly #session: Session;
  readonly #maxEntries: number;
  #isTrimming = false;
  #isExplaining = false;
  #olderAgainMs = 0;
  readonly #waits = new ReconnectWaits();
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #pods: Iterable<PodObject> = [];

  constructor(session: Session, { maxEntries = MAX_ENTRIES }: { readonly maxEntries?: number } = {}) {
    super();
    this.#session = session;
    this.#maxEntries = maxEntries;
    this.#follow();
  }

  endMs(): number {
    return Date.now();
  }

  /** What is known of pods without a record. */
  seed(pods: Iterable<PodObject>): void {
    this.#pods = pods;
    this.tracks.seed(pods);
    this.changed();
  }

  /** Reads older records, if that has not been done. */
  async loadSince(sinceMs: number): Promise<void> {
    if (this.isLoadingOlder || this.#isTrimming || this.isFull || this.state !== 'live') return;
    if (sinceMs >= this.fromMs - 1_000 || Date.now() < this.#olderAgainMs) return;
    this.isLoadingOlder = true;
    this.changed();
    const until = this.fromMs - 1;
    const since = Math.max(0, Math.floor(sinceMs));
    const room = Math.max(0, this.#maxEntries - this.tracks.entries.length);
    let older: JournalEntry[] = [];
    let count = 0;
    const problem = await new Promise<string>((resolve) => {
      this.#session.stream(`/events?follow=false&since=${since}&until=${until}`, {
        onLines: (lines) => {
          const entries = toEntries(lines);
          count += entries.length;
          older.push(...entries);
          // They come from the oldest on, and the newest are kept.
          if (older.length > 2 * room + 1_000) older = older.slice(older.length - room);
        },
        onEnd: ({ isWhole, message }) => resolve(isWhole ? '' : message || NO_WORDS),
        silenceMs: SILENCE_MS,
      });
    });
    this.olderProblem = problem;
    if (problem === '') {
      older = older.slice(Math.max(0, older.length - room));
      this.isFull = count > room;
      this.fromMs = this.isFull ? (older[0]?.atMs ?? this.fromMs) : since;
      await this.#rebuild(older);
    } else this.#olderAgainMs = Date.now() + OLDER_AGAIN_MS;
    this.isLoadingOlder = false;
    this.changed();
  }

  /** Puts older records before those that are there; what comes meanwhile is added. */
  async #rebuild(older: readonly JournalEntry[]): Promise<void> {
    const first = this.tracks.entries[0]?.id;
    const before = first === undefined ? older : older.filter(({ id }) => compareIds(id, first) < 0);
    await this.#replace(before, 0);
  }

  /** Forgets the oldest once there are too many. */
  async #trim(): Promise<void> {
    const { length } = this.tracks.entries;
    if (this.#isTrimming || this.isLoadingOlder || length <= this.#maxEntries * SLACK) return;
    this.#isTrimming = true;
    await this.#replace([], length - this.#maxEntries);
    this.fromMs = this.tracks.entries[0]!.atMs;
    this.isFull = true;
    this.#isTrimming = false;
    this.changed();
  }

  /** Makes the tracks again: of these, then of those that there are from a place on. */
  async #replace(before: readonly JournalEntry[], from: number): Promise<void> {
    const tracks = new Tracks();
    await addInSlices(tracks, before);
    await addInSlices(tracks, this.tracks.entries, from);
    tracks.seed(this.#pods);
    this.tracks = tracks;
  }

  #follow(): void {
    const after = this.tracks.entries.at(-1)?.id;
    const query = after === undefined ? `since=${Math.floor(this.fromMs)}` : `after=${after}`;
    this.#session.stream(`/events?${query}`, {
      onOpen: () => {
        this.#waits.reset();
        this.#quietSoon(FIRST_QUIET_MS);
      },
      onLines: (lines) => {
        for (const entry of toEntries(lines)) this.tracks.add(entry);
        void this.#trim();
        this.#quietSoon(QUIET_MS);
        this.changed();
      },
      onEnd: ({ message }) => {
        clearTimeout(this.#quiet);
        this.state = 'lost';
        // A server that is asked again and again for the same reason is still gone.
        if (message !== '' || this.problem === '') this.problem = message || NO_WORDS;
        this.changed();
        if (message === '') void this.#explain();
        setTimeout(() => this.#follow(), this.#waits.nextMs());
      },
      silenceMs: SILENCE_MS,
    });
  }

  /** A WebSocket that is refused says no more than one that breaks. */
  async #explain(): Promise<void> {
    if (this.#isExplaining) return;
    this.#isExplaining = true;
    const isOver = await this.#session.isOver();
    this.#isExplaining = false;
    if (this.state !== 'lost') return;
    this.problem = isOver ? SESSION_OVER : NO_WORDS;
    this.changed();
  }

  #quietSoon(quietMs: number): void {
    if (this.state === 'live') return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.state = 'live';
      this.problem = '';
      this.changed();
    }, quietMs);
  }
}

function toEntries(lines: readonly string[]): JournalEntry[] {
  return lines.flatMap((line) => parseEntry(line) ?? []);
}
