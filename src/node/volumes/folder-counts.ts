import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';

/** What {@link FolderCounts} needs. */
export interface FolderCountsOptions {
  /** Bytes in use below a folder; may take long. */
  readonly measure: (folder: string, signal: AbortSignal) => Promise<bigint>;
  /** Ends what is being counted. */
  readonly ending: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

interface Count {
  readonly bytes: Promise<bigint>;
  /** Monotonic; undefined while it is under way. */
  endedAtMs: number | undefined;
}

/** Those who look every ten seconds begin at about the same time. */
const FRESH_MS = 5_000;

/** Counts a folder once for all who want to know of it at about the same time: each time costs a look at every file. */
export class FolderCounts {
  readonly #options: FolderCountsOptions;
  readonly #counts = new Map<string, Count>();

  constructor(options: FolderCountsOptions) {
    this.#options = options;
  }

  /** How many bytes it takes, now or a moment ago. Rejects when that cannot be told. The signal ends the wait alone. */
  async count(folder: string, signal: AbortSignal): Promise<bigint> {
    signal.throwIfAborted();
    const nowMs = this.#options.clock.monotonicMs();
    for (const [path, { endedAtMs }] of this.#counts) {
      if (endedAtMs !== undefined && nowMs - endedAtMs >= FRESH_MS) this.#counts.delete(path);
    }
    const { bytes } = this.#counts.get(folder) ?? this.#begin(folder);
    return await abortable(bytes, signal);
  }

  #begin(folder: string): Count {
    const { measure, ending, clock } = this.#options;
    const count: Count = { bytes: measure(folder, ending), endedAtMs: undefined };
    this.#counts.set(folder, count);
    count.bytes.then(
      () => (count.endedAtMs = clock.monotonicMs()),
      () => this.#counts.delete(folder),
    );
    return count;
  }
}
