import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';

/** What {@link FolderCounts} needs. */
export interface FolderCountsOptions {
  /** Bytes in use below a folder; may take long. */
  readonly measure: (folder: string, signal: AbortSignal) => Promise<bigint>;
  /** Aborts the counts under way. */
  readonly ending: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

interface Count {
  readonly bytes: Promise<bigint>;
  /** Monotonic; undefined while it is under way. */
  endedAtMs: number | undefined;
}

/** Callers that count every ten seconds begin at about the same time. */
const FRESH_MS = 5_000;

/** Shares one count of a folder among simultaneous callers, as each count visits every file. */
export class FolderCounts {
  readonly #options: FolderCountsOptions;
  readonly #counts = new Map<string, Count>();

  constructor(options: FolderCountsOptions) {
    this.#options = options;
  }

  /** Bytes in use, now or a moment ago. Rejects when unknown. The signal only ends the wait. */
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
