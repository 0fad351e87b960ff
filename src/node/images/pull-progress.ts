/**
 * How far pulls are, for people who wait for a pod: in its status, in its events, in metrics.
 *
 * In: pulls as pods begin and end to wait for them, and the pulls of the runtime. Out: messages. Only the runtime in the box
 * can say how far it is; CRI has no call for it, and with other runtimes nothing is asked and nothing is shown.
 *
 * @module
 */
import { withinTime } from '#base/async/within-time.js';
import { type Clock } from '#base/time/clock.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { fullNameOf } from '#kube/container/image-name.js';

/** A pull of the runtime, in bytes of each layer as they are stored. */
export interface RuntimePull {
  /** With registry, and tag or digest. */
  readonly image: string;
  readonly layers: readonly { readonly size: number; readonly fetched: number; readonly unpacked: number }[];
}

/** Options of {@link PullProgress}. */
export interface PullProgressOptions {
  /** Undefined: the runtime does not say. Called only while a pod waits, one call at a time. */
  readonly listPulls: ((signal: AbortSignal) => Promise<readonly RuntimePull[]>) | undefined;
  /** Shows a message with a container that has not been made yet. */
  readonly show: (podUid: string, container: string, message: string) => void;
  readonly events: PodEventRecorder;
  readonly clock: Clock;
}

/** A container that waits for an image. */
export interface AwaitedPull {
  readonly pod: PodRef;
  readonly container: string;
  /** As the manifest says it. */
  readonly wanted: string;
}

interface Waiting extends AwaitedPull {
  nextEventMs: number;
  pauseMs: number;
}

/** How many bytes all pulls that are awaited have together. */
export interface PullBytes {
  readonly pulls: number;
  readonly fetched: number;
  readonly total: number;
}

const PERIOD_MS = 1_000;
/** A list is answered from memory. */
const LIST_TIMEOUT_MS = 5_000;
/** The first event about how far a pull is; each further one takes twice as long as the one before, up to the last. */
const FIRST_EVENT_MS = 15_000;
const LAST_EVENT_MS = 240_000;

/** See the module. */
export class PullProgress {
  readonly #options: PullProgressOptions;
  readonly #waiting = new Set<Waiting>();
  readonly #ended = new AbortController();
  #watch: Promise<void> | undefined;
  #bytes: Omit<PullBytes, 'pulls'> = { fetched: 0, total: 0 };

  constructor(options: PullProgressOptions) {
    this.#options = options;
  }

  /** For how many containers images are being pulled, and the bytes of those pulls. */
  get bytes(): PullBytes {
    return { pulls: this.#waiting.size, ...this.#bytes };
  }

  /** A container begins to wait; call what is returned when it no longer does. */
  begin(pull: AwaitedPull): () => void {
    const nowMs = this.#options.clock.monotonicMs();
    const waiting = { ...pull, nextEventMs: nowMs + FIRST_EVENT_MS, pauseMs: FIRST_EVENT_MS };
    this.#waiting.add(waiting);
    if (this.#options.listPulls !== undefined && !this.#ended.signal.aborted)
      this.#watch ??= this.#run(this.#options.listPulls);
    return () => void this.#waiting.delete(waiting);
  }

  /** Asks no more. Resolves when nothing is being asked. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#watch;
  }

  /** Never rejects: what cannot be asked is not shown. */
  async #run(listPulls: NonNullable<PullProgressOptions['listPulls']>): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    for (;;) {
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
      if (signal.aborted || this.#waiting.size === 0) break;
      const pulls = await withinTime({ clock, limitMs: LIST_TIMEOUT_MS, signal }, listPulls).catch(() => []);
      this.#report(pulls);
    }
    // Without a wait before: a pull that begins now finds that nobody asks.
    this.#watch = undefined;
    this.#bytes = { fetched: 0, total: 0 };
  }

  #report(pulls: readonly RuntimePull[]): void {
    const { clock, show, events } = this.#options;
    const nowMs = clock.monotonicMs();
    const states = new Map(pulls.map((pull) => [pull.image, stateOf(pull)]));
    const shown = new Set<PullState>();
    for (const waiting of this.#waiting) {
      const { pod, container, wanted } = waiting;
      const state = states.get(fullNameOf(wanted) ?? wanted);
      if (state === undefined || state.total === 0) continue;
      shown.add(state);
      show(pod.uid, container, `${state.verb} ${state.amount}`);
      if (nowMs < waiting.nextEventMs) continue;
      events.record(pod, {
        ...{ type: 'Normal', reason: 'Pulling', container },
        message: `${state.verb} image "${wanted}": ${state.amount}`,
      });
      waiting.pauseMs = Math.min(2 * waiting.pauseMs, LAST_EVENT_MS);
      waiting.nextEventMs = nowMs + waiting.pauseMs;
    }
    const sum = (count: (state: PullState) => number): number =>
      [...shown].reduce((all, state) => all + count(state), 0);
    this.#bytes = { fetched: sum(({ fetched }) => fetched), total: sum(({ total }) => total) };
  }
}

interface PullState {
  readonly fetched: number;
  readonly total: number;
  readonly verb: 'Pulling' | 'Unpacking';
  /** `45% (120/266 MB)` */
  readonly amount: string;
}

/** What is fetched, and what is unpacked once everything is here. */
function stateOf({ layers }: RuntimePull): PullState {
  const sum = (count: (layer: RuntimePull['layers'][number]) => number): number =>
    layers.reduce((all, layer) => all + count(layer), 0);
  const total = sum(({ size }) => size);
  const fetched = Math.min(
    sum((layer) => layer.fetched),
    total,
  );
  const isHere = fetched >= total;
  const done = isHere
    ? Math.min(
        sum(({ unpacked }) => unpacked),
        total,
      )
    : fetched;
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(total < 10e6 ? 1 : 0);
  const percent = total === 0 ? 0 : Math.floor((100 * done) / total);
  const amount = `${percent}% (${mb(done)}/${mb(total)} MB)`;
  return { fetched, total, verb: isHere ? 'Unpacking' : 'Pulling', amount };
}
