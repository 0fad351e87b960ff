import { type LogLine } from './log-line-text.js';

/** A line with a time, and how many pieces of it have come behind the first, which have none. */
export interface TimedLine {
  readonly atMs: number;
  readonly text: string;
  pieces: number;
}

/**
 * The lines of a log that are shown and come once more when it is read again after a break.
 *
 * A log is read again from a millisecond on, which may have many lines. Their order does not say which of them are known: the
 * agent joins what a runtime has split, so that a line may stand behind later ones, and the clock may be set back.
 */
export class LinesAgain {
  /** For each line that is expected, how many pieces come behind it; some lines are the same. */
  readonly #expected = new Map<string, number[]>();
  /** What comes later was never shown. */
  #newestMs = -Infinity;
  /** Pieces of the line that has just come which are shown already. */
  #pieces = 0;

  clear(): void {
    this.#expected.clear();
    this.#pieces = 0;
    this.#newestMs = -Infinity;
  }

  /** Lines that are shown come once more, from anywhere on; `last` is the last of them that has a time. */
  expect(shown: readonly LogLine[], last: TimedLine): void {
    this.clear();
    const lines: TimedLine[] = [];
    let line: TimedLine | undefined;
    for (const { atMs, text, isNote } of shown) {
      // Before a note are the lines of another container.
      if (isNote === true) lines.length = 0;
      else if (atMs !== undefined) lines.push((line = { atMs, text, pieces: 0 }));
      else if (line !== undefined) line.pieces++;
    }
    // Of a line with very many pieces the first are not shown any more.
    lines.splice(-1, 1, last);
    for (const { atMs, text, pieces } of lines) {
      this.#newestMs = Math.max(this.#newestMs, atMs);
      const key = keyOf(atMs, text);
      const same = this.#expected.get(key);
      if (same === undefined) this.#expected.set(key, [pieces]);
      else same.push(pieces);
    }
  }

  /** Whether a line that comes is shown already: the same line is expected only as often as it is shown. */
  has({ atMs, text }: LogLine): boolean {
    if (atMs === undefined) return this.#pieces > 0 && this.#pieces-- > 0;
    const key = keyOf(atMs, text);
    const same = this.#expected.get(key);
    this.#pieces = same?.shift() ?? 0;
    if (same?.length === 0) this.#expected.delete(key);
    if (same === undefined && atMs > this.#newestMs) this.#expected.clear();
    return same !== undefined;
  }
}

function keyOf(atMs: number, text: string): string {
  return `${atMs} ${text}`;
}
