import { type Secret } from './config-object.js';
import { PieceTree } from '../fields/piece-tree.js';
import { type Replacement, replaceQuoted, withPlainSpace } from '../fields/replace-quoted.js';

/** What has the values, by any names. */
type Values = Pick<Secret, 'data'>;

/** Options of {@link SecretValues}. */
export interface SecretValuesOptions {
  /** How many values and lines of values are remembered. The one learnt longest ago is dropped first. */
  readonly capacity: number;
}

/** Shorter values are ordinary words; hiding them would garble texts without protecting anything. */
const SHORTEST = 6;
/** Larger values have thousands of lines, and nobody prints one of them by mistake. */
const LARGEST_BY_LINE = 64 * 1024;
/** Replaces a value. */
const HIDDEN = '***';

/**
 * The values of some Secrets and the lines in them, and where they occur in a text.
 *
 * The time for a text does not depend on the number of values, but on the length of the text: shorten it
 * first.
 */
export class SecretValues {
  readonly #capacity: number;
  /** In the order in which they were last learnt. */
  readonly #pieces = new Set<string>();
  readonly #tree = new PieceTree({ shortest: SHORTEST });
  readonly #learnt = new WeakSet<Values>();

  constructor({ capacity }: SecretValuesOptions) {
    this.#capacity = capacity;
  }

  /** How many values and lines of values are known. */
  get size(): number {
    return this.#pieces.size;
  }

  /** Remembers all values of a Secret. Returns how many others were dropped for them. */
  learn(secret: Values): number {
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

  /** Forgets the values of a Secret, even if other Secrets have the same. */
  forget(secret: Values): void {
    for (const piece of piecesOf(secret)) this.#drop(piece);
  }

  /** Drops the value that was learnt longest ago. */
  dropOldest(): void {
    const [oldest] = this.#pieces;
    if (oldest !== undefined) this.#drop(oldest);
  }

  /** The text with `***` for each value in it. */
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

/** Each value, and each line of values with several lines, without surrounding white space. */
function* piecesOf({ data }: Values): Generator<string> {
  for (const value of data.values()) {
    const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
    const lines = text.length > LARGEST_BY_LINE ? [] : text.split('\n');
    for (const part of [text, ...lines]) {
      const piece = withPlainSpace(part.trim());
      if (piece.length >= SHORTEST) yield piece;
    }
  }
}
