import { judgeTrack } from '../timeline/judge-track.js';
import { type Player, type PodStates, type TimelineSource } from '../timeline/timeline-source.js';
import { type Track, Tracks } from '../timeline/tracks.js';
import { type JournalEntry } from './journal-entry.js';
import { type PodVerdict } from './shown-pod.js';
import { Store } from './store.js';

/** A recording or an incident, as the page gets it. Times are in milliseconds since the epoch. */
export interface Recorded {
  readonly title: string;
  readonly facts: readonly (readonly [string, string])[];
  /** What is missing, as sentences. */
  readonly notes: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** Where it begins to play. */
  readonly atMs?: number;
  readonly speed?: number;
  readonly bands: readonly { readonly label: string; readonly fromMs: number; readonly toMs: number }[];
  readonly findings: readonly RecordedFinding[];
  readonly entries: readonly JournalEntry[];
}

/** A finding of an incident. */
export interface RecordedFinding {
  readonly code: string;
  readonly severity: string;
  readonly message: string;
  readonly evidence?: readonly string[];
  readonly remedy?: string;
  readonly beganAt?: string;
  readonly endedAt?: string;
  readonly ending?: string;
  readonly follows?: readonly (string | { readonly code: string; readonly message: string })[];
}

/** The element of a file that has everything inside. */
const ELEMENT = 'podloop-records';
/** Records that are put into tracks without a pause. */
const SLICE = 4_000;
/** How often the moment moves while it plays. */
const STEP_MS = 50;
/** Played so fast, the whole takes no longer than this. */
const WHOLE_MS = 120_000;
/** To choose from, as factors of real time. */
export const SPEEDS: readonly number[] = [0.1, 1, 10, 60, 600];

/** What the file of the page has inside; undefined for a page that a server serves. */
export function findEmbedded(): Recorded | undefined {
  const text = document.getElementById(ELEMENT)?.textContent;
  return text === undefined ? undefined : (JSON.parse(text) as Recorded);
}

/** Plays a recording: its tracks, and its pods at the moment where it is. */
export class RecordedFeed extends Store implements TimelineSource, PodStates, Player {
  readonly tracks = new Tracks();
  readonly player = this;
  readonly fromMs: number;
  readonly isLoadingOlder = false;
  readonly isFull = false;
  state: 'loading' | 'live' = 'loading';
  momentMs: number;
  isPlaying = false;
  speed: number;
  readonly #recorded: Recorded;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(recorded: Recorded) {
    super();
    this.#recorded = recorded;
    const { fromMs, toMs, atMs = fromMs, speed } = recorded;
    this.fromMs = fromMs;
    this.momentMs = Math.min(toMs, Math.max(fromMs, atMs));
    this.speed = speed ?? SPEEDS.find((each) => (toMs - fromMs) / each <= WHOLE_MS) ?? SPEEDS.at(-1)!;
    void this.#fill();
  }

  endMs(): number {
    return this.#recorded.toMs;
  }

  judge(track: Track): PodVerdict | undefined {
    return judgeTrack(track, this.momentMs);
  }

  /** Everything is there. */
  async loadSince(): Promise<void> {
    await Promise.resolve();
  }

  goTo(ms: number): void {
    const { fromMs, toMs } = this.#recorded;
    this.momentMs = Math.min(toMs, Math.max(fromMs, ms));
    this.changed();
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.changed();
  }

  toggle(): void {
    if (this.isPlaying) {
      this.#stop();
      return;
    }
    const { fromMs, toMs } = this.#recorded;
    if (this.momentMs >= toMs) this.momentMs = fromMs;
    this.isPlaying = true;
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.goTo(this.momentMs + (now - last) * this.speed);
      last = now;
      if (this.momentMs >= toMs) this.#stop();
    }, STEP_MS);
    this.changed();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.isPlaying = false;
    this.changed();
  }

  async #fill(): Promise<void> {
    for (const [at, entry] of this.#recorded.entries.entries()) {
      this.tracks.add(entry);
      if (at % SLICE === SLICE - 1) await new Promise((resolve) => setTimeout(resolve));
    }
    this.state = 'live';
    this.changed();
  }
}
