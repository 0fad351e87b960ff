import { type Secret } from './config-object.js';
import { PieceTree } from './piece-tree.js';
import { type Replacement, replaceQuoted, withPlainSpace } from './replace-quoted.js';

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
 * line by itself. One that the end of a text cuts off is hidden, too, and so is what begins as a value does for 32
 * characters, and one that is quoted with escapes, as Go and JSON have them, or on a single line. What is learnt stays known when the Secret
 * changes: containers keep what they were started with.
 *
 * A text takes as long with a hundred thousand values as with one, whatever they are, but longer the longer it is: cut
 * first what is to be cut.
 */
export class SecretHider {
  readonly #capacity: number;
  /** In the order in which they were learnt last. */
  readonly #pieces = new Set<string>();
  readonly #tree = new PieceTree({ shortest: SHORTEST });
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
    return this.#pieces.size === 0 ? text : replaceQuoted(text, (plain) => this.#find(plain));
  }

  #find(text: string): Replacement[] {
    const found: Replacement[] = [];
    for (let at = 0; at + SHORTEST <= text.length; at++) {
      const length = this.#tree.lengthAt(text, at);
      if (length === 0) continue;
      found.push({ start: at, end: at + length, shown: HIDDEN });
      at += length - 1;
    }
    return found;
  }

  #learnPiece(text: string): void {
    const piece = withPlainSpace(text);
    if (piece.length < SHORTEST) return;
    if (!this.#pieces.delete(piece)) this.#tree.add(piece);
    this.#pieces.add(piece);
    if (this.#pieces.size <= this.#capacity) return;
    const [oldest = ''] = this.#pieces;
    this.#tree.delete(oldest);
    this.#pieces.delete(oldest);
    this.#forgotten++;
  }
}
