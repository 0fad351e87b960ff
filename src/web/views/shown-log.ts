import { type LogLine, parseLogLine } from './log-line-text.js';

/** How much is held; more is in the files, which podloop logs prints. */
export interface ShownLogLimits {
  readonly maxLines: number;
  readonly maxCharacters: number;
}

/** A line is shown in pieces of this length. */
export const MAX_LINE = 2_048;
const LIMITS: ShownLogLimits = { maxLines: 20_000, maxCharacters: 8 << 20 };
/** How much more there may be before the oldest go, as a factor. */
const SLACK = 1.1;

/** The lines of a log that are shown: the newest, or those round a moment. */
export class ShownLog {
  all: LogLine[] = [];
  /** Those with what is searched for. */
  found: LogLine[] = [];
  /** How many older lines are not there any more. */
  dropped = 0;
  /** Whether what comes after those round the moment is left out. */
  isFull = false;
  readonly #limits: ShownLogLimits;
  readonly #momentMs: number;
  #sought = '';
  #characters = 0;
  /** The last line with a time, as it came. */
  #last: { readonly text: string; readonly atMs: number } | undefined;
  /** After a break: what comes is skipped up to that line. */
  #skipTo: { readonly text: string; readonly atMs: number; isReached: boolean } | undefined;

  /** Without a moment the newest lines stay. */
  constructor(momentMs = NaN, limits = LIMITS) {
    this.#momentMs = momentMs;
    this.#limits = limits;
  }

  /** Adds what came, of lines with their times in front. */
  add(lines: readonly string[]): void {
    for (const text of lines) {
      if (this.isFull) return;
      const line = parseLogLine(text);
      if (this.#isKnown(text, line)) continue;
      if (line.atMs !== undefined) this.#last = { text, atMs: line.atMs };
      this.#push(line);
    }
  }

  /** Adds a line of the page's own. */
  note(text: string): void {
    this.#push({ atMs: undefined, text, isNote: true });
  }

  /** From now on, lines come once more from the time that is returned; undefined if there were none. */
  resume(): string | undefined {
    if (this.#last === undefined) return undefined;
    this.#skipTo = { ...this.#last, isReached: false };
    return new Date(this.#last.atMs).toISOString();
  }

  /** Searches, in any case of letters; for nothing if the text is empty. */
  search(sought: string): void {
    this.#sought = sought.toLowerCase();
    this.found = this.all.filter((line) => this.isFound(line));
  }

  /** Whether it has what is searched for. */
  isFound({ text }: LogLine): boolean {
    return this.#sought !== '' && text.toLowerCase().includes(this.#sought);
  }

  #isKnown(text: string, { atMs }: LogLine): boolean {
    const target = this.#skipTo;
    if (target === undefined) return false;
    // A piece of a long line has no time, and belongs to what is before it.
    if (atMs === undefined || atMs < target.atMs) return true;
    if (atMs === target.atMs && !target.isReached) {
      target.isReached = text === target.text;
      return true;
    }
    this.#skipTo = undefined;
    return false;
  }

  #push(line: LogLine): void {
    this.all.push(line);
    this.#characters += line.text.length;
    if (this.isFound(line)) this.found.push(line);
    const { maxLines, maxCharacters } = this.#limits;
    if (this.all.length <= maxLines * SLACK && this.#characters <= maxCharacters * SLACK) return;
    const middle = this.all[this.all.length >> 1]!;
    // The moment and as much before it as after it.
    if (!Number.isNaN(this.#momentMs) && (middle.atMs ?? 0) >= this.#momentMs) this.isFull = true;
    else this.#dropOldest();
  }

  #dropOldest(): void {
    const { maxLines, maxCharacters } = this.#limits;
    let count = Math.max(0, this.all.length - maxLines);
    let characters = this.#characters;
    for (let at = 0; at < count; at++) characters -= this.all[at]!.text.length;
    while (characters > maxCharacters) characters -= this.all[count++]!.text.length;
    const gone = new Set(this.all.slice(0, count));
    this.all = this.all.slice(count);
    this.found = this.found.filter((line) => !gone.has(line));
    this.#characters = characters;
    this.dropped += count;
  }
}
