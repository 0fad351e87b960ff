import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';
import { judgeTrack } from '../timeline/judge-track.js';
import { type Player, type PodStates, type TimelineSource } from '../timeline/timeline-source.js';
import { addInSlices } from '../timeline/add-in-slices.js';
import { type Track, Tracks } from '../timeline/tracks.js';
import { type PodVerdict } from './shown-pod.js';
import { Store } from './store.js';

/** The element of a file that has everything inside. */
const ELEMENT = 'podloop-records';
/** How often the moment moves while it plays. */
const STEP_MS = 50;
/** Played so fast, the whole takes no longer than this. */
const WHOLE_MS = 120_000;
/** To choose from, as factors of real time. */
export const SPEEDS: readonly number[] = [0.1, 1, 10, 60, 600];

/** What the file of the page has inside; undefined for a page that a server serves. */
export function findEmbedded(): RecordedTimeline | undefined {
  const text = document.getElementById(ELEMENT)?.textContent;
  return text === undefined ? undefined : (JSON.parse(text) as RecordedTimeline);
}

/** Plays a recording: its tracks, and its pods at the moment where it is. */
export class RecordedFeed extends Store implements TimelineSource, PodStates, Player {
  readonly tracks = new Tracks();
  readonly player = this;
  readonly fromMs: number;
  readonly isLoadingOlder = false;
  readonly olderProblem = '';
  readonly isFull = false;
  state: 'loading' | 'live' = 'loading';
  momentMs: number;
  isPlaying = false;
  speed: number;
  readonly #recorded: RecordedTimeline;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(recorded: RecordedTimeline) {
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
    await addInSlices(this.tracks, this.#recorded.entries);
    this.state = 'live';
    this.changed();
  }
}
