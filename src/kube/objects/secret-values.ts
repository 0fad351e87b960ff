import { type Secret } from './config-object.js';
import { PieceTree } from '../fields/piece-tree.js';
import { type Replacement, replaceQuoted, withPlainSpace } from '../fields/replace-quoted.js';

/** What {@link SecretValues} is told. */
export interface SecretValuesOptions {
  /** How many values and lines of values are known at once. The one learnt longest ago goes first. */
  readonly capacity: number;
}

/** Shorter ones are words of any text, and would take sense out of it without hiding anything. */
const SHORTEST = 6;
/** Of larger values each line is one of thousands, and nobody prints them by mistake. */
const LARGEST_BY_LINE = 64 * 1024;
/** What stands in the place of a value. */
const HIDDEN = '***';

/**
 * The values of some Secrets and lines of them, and where they stand in a text.
 *
 * A text takes as long with many thousands of them as with one, whatever they are, but longer the longer it is: cut
 * first what is to be cut.
 */
export class SecretValues {
  readonly #capacity: number;
  /** In the order in which they were learnt last. */
  readonly #pieces = new Set<string>();
  readonly #tree = new PieceTree({ shortest: SHORTEST });
  readonly #learnt = new WeakSet<Secret>();

  constructor({ capacity }: SecretValuesOptions) {
    this.#capacity = capacity;
  }

  /** How many values and lines of values are known. */
  get size(): number {
    return this.#pieces.size;
  }

  /** Knows all values of a Secret from now on. Gives how many others were given up for them. */
  learn(secret: Secret): number {
    let givenUp = 0;
    if (this.#learnt.has(secret)) return givenUp;
    this.#learnt.add(secret);
    for (const piece of piecesOf(secret)) {
      if (!this.#pieces.delete(piece)) this.#tree.add(piece);
      this.#pieces.add(piece);
      if (this.#pieces.size <= this.#capacity) continue;
      this.dropOldest();
      givenUp++;
    }
    return givenUp;
  }

  /** Knows what such a Secret says no longer, whichever others say the same. */
  forget(secret: Secret): void {
    for (const piece of piecesOf(secret)) this.#drop(piece);
  }

  /** Knows the one that was learnt longest ago no longer. */
  dropOldest(): void {
    const [oldest] = this.#pieces;
    if (oldest !== undefined) this.#drop(oldest);
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

  #drop(piece: string): void {
    if (this.#pieces.delete(piece)) this.#tree.delete(piece);
  }
}

/** Each value, and of those with several lines each line, without the white space round it. */
function* piecesOf({ data }: Secret): Generator<string> {
  for (const value of data.values()) {
    const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
    const lines = text.length > LARGEST_BY_LINE ? [] : text.split('\n');
    for (const part of [text, ...lines]) {
      const piece = withPlainSpace(part.trim());
      if (piece.length >= SHORTEST) yield piece;
    }
  }
}
