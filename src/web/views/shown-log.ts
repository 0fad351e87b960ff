import { type LogLine, parseLogLine } from './log-line-text.js';
import { LinesAgain, type TimedLine } from './lines-again.js';

/** Limits of what is shown. All lines are in the log files, which `podloop logs` prints. */
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
  readonly #again = new LinesAgain();
  /** Whose lines come. */
  #containerId: string | undefined;
  /** The last line of this container that has a time, with the pieces behind it that have none. */
  #last: TimedLine | undefined;

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
      if (this.#again.has(line)) continue;
      const { atMs } = line;
      if (atMs !== undefined) this.#last = { atMs, text: line.text, pieces: 0 };
      else if (this.#last !== undefined) this.#last.pieces++;
      this.#push(line);
    }
  }

  /** Says which container the lines are of from now on; a note stands before the first one of another container. */
  begin(containerId: string | undefined, note: string): void {
    const before = this.#containerId;
    if (containerId === undefined || containerId === before) return;
    this.#containerId = containerId;
    if (before === undefined) return;
    this.#last = undefined;
    this.#again.clear();
    if (this.all.length > 0) this.note(note);
  }

  /** Adds a line of the page's own. */
  note(text: string): void {
    this.#push({ atMs: undefined, text, isNote: true });
  }

  /**
   * The time since when the lines of this container are to be read once more; undefined if none was shown. Those that are
   * shown already are left out when they come.
   */
  resume(): string | undefined {
    if (this.#last === undefined) return undefined;
    this.#again.expect(this.all, this.#last);
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
