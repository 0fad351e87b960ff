/** The delays of {@link StableFiles}, in milliseconds. */
export interface SteadyFilesOptions {
  /** How long a file has to be unchanged to count. */
  readonly settleMs: number;
  /** A file that keeps changing is reported after this time. */
  readonly patienceMs: number;
}

/** A reading, compared with the readings before. */
export interface SteadyLook {
  /** Names with new contents that have been stable long enough: read them, and call `taken`. */
  readonly steady: readonly string[];
  /** Names that count as missing. */
  readonly gone: readonly string[];
  /** Names that keep changing. */
  readonly restless: readonly string[];
  /** Names that were not read yet, and are not stable. */
  readonly unsettled: readonly string[];
  /** Names that are missing, but may come back. */
  readonly leaving: readonly string[];
  /** When another reading may show more; undefined when only a change can. */
  readonly nextLookInMs: number | undefined;
}

interface Entry {
  sign: string;
  sinceMs: number;
  /** When it last had the content that was read, or was first seen. */
  restlessSinceMs: number;
  taken: string | undefined;
  missingSinceMs: number | undefined;
}

/** A renamed file is for a moment missing and not yet read under its new name. */
const HOLD_REMOVAL_MS = 2_000;

/**
 * Decides which changes of a folder count, by comparing readings of it.
 *
 * Files are written in steps, replaced by removing and creating, and renamed while their folder is listed. So
 * a content or an absence counts once two readings, `settleMs` apart, have seen it. As long as a new file is
 * not stable, absences wait for a while: it may be the missing one under another name. A file that was
 * written elsewhere and moved here is complete from its first reading on.
 */
export class StableFiles {
  readonly #options: SteadyFilesOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: SteadyFilesOptions) {
    this.#options = options;
  }

  /** A file that may have existed before the first reading: its absence has to be noticed. */
  expect(name: string, nowMs: number): void {
    this.#seen(name, '', nowMs);
  }

  /**
   * Adds a reading: for each name a sign that changes with the content. `nowMs` is monotonic.
   *
   * `whole` are the names that came as complete files.
   */
  look(
    nowMs: number,
    signs: ReadonlyMap<string, string>,
    whole: ReadonlySet<string> = new Set(),
  ): SteadyLook {
    const { settleMs, patienceMs } = this.#options;
    const found = { steady: [] as string[], restless: [] as string[], unsettled: [] as string[] };
    let nextLookInMs = Infinity;
    for (const [name, sign] of signs) {
      const entry = this.#seen(name, sign, nowMs);
      if (entry.taken === sign) continue;
      const steadyInMs = whole.has(name) ? 0 : settleMs - (nowMs - entry.sinceMs);
      if (steadyInMs <= 0) {
        found.steady.push(name);
        continue;
      }
      nextLookInMs = Math.min(nextLookInMs, steadyInMs);
      if (entry.taken === undefined) found.unsettled.push(name);
      if (nowMs - entry.restlessSinceMs >= patienceMs) found.restless.push(name);
    }
    const [gone, leaving]: [string[], string[]] = [[], []];
    const waitMs = found.unsettled.length > 0 ? Math.max(settleMs, HOLD_REMOVAL_MS) : settleMs;
    for (const [name, entry] of this.#entries) {
      if (signs.has(name)) continue;
      entry.missingSinceMs ??= nowMs;
      const goneInMs = waitMs - (nowMs - entry.missingSinceMs);
      (goneInMs <= 0 ? gone : leaving).push(name);
      if (goneInMs > 0) nextLookInMs = Math.min(nextLookInMs, goneInMs);
    }
    for (const name of gone) this.#entries.delete(name);
    return { ...found, gone, leaving, nextLookInMs: nextLookInMs === Infinity ? undefined : nextLookInMs };
  }

  /** The content with that sign was read. */
  taken(name: string, sign: string): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.taken = sign;
  }

  /** Has a file read again although it is stable. */
  release(name: string): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.taken = undefined;
  }

  #seen(name: string, sign: string, nowMs: number): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      const since = { sinceMs: nowMs, restlessSinceMs: nowMs };
      entry = { sign, ...since, taken: undefined, missingSinceMs: undefined };
      this.#entries.set(name, entry);
    }
    if (entry.sign !== sign) {
      if (entry.sign === entry.taken) entry.restlessSinceMs = nowMs;
      entry.sign = sign;
      entry.sinceMs = nowMs;
    }
    entry.missingSinceMs = undefined;
    return entry;
  }
}
