import { type Secret } from './config-object.js';

/** What {@link SecretHider} may be told. */
export interface SecretHiderOptions {
  /** How many values and lines of values are known at once; 100,000 unless told. The one learnt longest ago goes first. */
  readonly capacity?: number;
}

/** Shorter ones are words of any text, and would take sense out of it without hiding anything. */
const SHORTEST = 6;
const CAPACITY = 100_000;
/** Of larger values each line is one of thousands, and nobody prints them by mistake. */
const LARGEST_BY_LINE = 64 * 1024;
/** What stands in the place of a value. */
export const HIDDEN = '***';

/**
 * Takes the values of Secrets out of texts that others have written: the output of a probe or of a hook, the words of a
 * runtime.
 *
 * It knows values of six characters or more, without the white space round them, and of those with several lines each
 * line by itself. One that the end of a text cuts off is hidden, too. What is learnt stays known when the Secret
 * changes: containers keep what they were started with.
 *
 * Values are found by how they begin, so a text takes as long with a hundred thousand values as with one.
 */
export class SecretHider {
  readonly #capacity: number;
  /** In the order in which they were learnt last. */
  readonly #pieces = new Set<string>();
  /** By their first characters. */
  readonly #byBeginning = new Map<string, Set<string>>();
  readonly #learnt = new WeakSet<Secret>();
  #forgotten = 0;

  constructor({ capacity = CAPACITY }: SecretHiderOptions = {}) {
    this.#capacity = capacity;
  }

  /** How many were given up for newer ones. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Knows all values of a Secret from now on. */
  learn(secret: Secret): void {
    if (this.#learnt.has(secret)) return;
    this.#learnt.add(secret);
    for (const value of secret.data.values()) {
      const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
      this.#learnPiece(text.trim());
      if (text.length > LARGEST_BY_LINE) continue;
      for (const line of text.split('\n')) this.#learnPiece(line.trim());
    }
  }

  /** The same text with `***` for each value that it holds. */
  hide(text: string): string {
    if (this.#pieces.size === 0) return text;
    let shown = '';
    let from = 0;
    for (let at = 0; at + SHORTEST <= text.length; at++) {
      const length = this.#lengthAt(text, at);
      if (length === 0) continue;
      shown += text.slice(from, at) + HIDDEN;
      from = at + length;
      at = from - 1;
    }
    return from === 0 ? text : shown + text.slice(from);
  }

  /** How many characters from there on belong to the longest value that stands there. */
  #lengthAt(text: string, at: number): number {
    let longest = 0;
    for (const piece of this.#byBeginning.get(text.slice(at, at + SHORTEST)) ?? []) {
      if (text.startsWith(piece, at)) longest = Math.max(longest, piece.length);
      else if (piece.length > text.length - at && piece.startsWith(text.slice(at))) return text.length - at;
    }
    return longest;
  }

  #learnPiece(piece: string): void {
    if (piece.length < SHORTEST) return;
    if (!this.#pieces.delete(piece)) {
      const beginning = piece.slice(0, SHORTEST);
      const known = this.#byBeginning.get(beginning);
      if (known === undefined) this.#byBeginning.set(beginning, new Set([piece]));
      else known.add(piece);
    }
    this.#pieces.add(piece);
    if (this.#pieces.size <= this.#capacity) return;
    const [oldest = ''] = this.#pieces;
    this.#forget(oldest);
  }

  #forget(piece: string): void {
    const beginning = piece.slice(0, SHORTEST);
    const known = this.#byBeginning.get(beginning);
    known?.delete(piece);
    if (known?.size === 0) this.#byBeginning.delete(beginning);
    this.#pieces.delete(piece);
    this.#forgotten++;
  }
}
