/** How long {@link SteadyFiles} waits, in milliseconds. */
export interface SteadyFilesOptions {
  /** What did not change for so long is believed. */
  readonly settleMs: number;
  /** A file that is never steady is named after so long. */
  readonly patienceMs: number;
}

/** What a look says, held against the looks before. */
export interface SteadyLook {
  /** Names whose content is new and has been the same for long enough: read them and say so with `taken`. */
  readonly steady: readonly string[];
  /** Names whose absence is believed. */
  readonly gone: readonly string[];
  /** Names that never stay the same. */
  readonly restless: readonly string[];
  /** Names that have not been taken yet, and are not steady. */
  readonly unsettled: readonly string[];
  /** Names that are missing, and may come back. */
  readonly leaving: readonly string[];
  /** When a look at the same files may say more; undefined when only a change can. */
  readonly nextLookInMs: number | undefined;
}

interface Entry {
  sign: string;
  sinceMs: number;
  /** When it was last what was taken, or was first seen. */
  restlessSinceMs: number;
  taken: string | undefined;
  missingSinceMs: number | undefined;
}

/** A file that is renamed is for a moment missing and not yet read under its new name. */
const HOLD_REMOVAL_MS = 2_000;

/**
 * Tells what of a folder can be believed, from looks at it.
 *
 * Files are written in steps, replaced by removing and writing anew, and renamed while their folder is listed. So a
 * content or an absence counts once two looks, `settleMs` apart, have seen it; and as long as a new file is not steady,
 * absences wait, for a while: it may be the missing one under another name. A file that was written elsewhere and moved
 * here is whole from its first look on.
 */
export class SteadyFiles {
  readonly #options: SteadyFilesOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: SteadyFilesOptions) {
    this.#options = options;
  }

  /** A file that was there before the first look, perhaps: its absence is to be noticed. */
  expect(name: string, nowMs: number): void {
    this.#seen(name, '', nowMs);
  }

  /**
   * Takes in what a look saw: for each name a sign that changes with the content. `nowMs` is monotonic; `whole` are the
   * names that nobody writes to, by what is known of how they came.
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

  /** Whatever was taken of a file is to be read again, steady as it is. */
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
