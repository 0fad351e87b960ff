import { type Secret } from './config-object.js';
import { PieceTree } from './piece-tree.js';
import { unescapeText } from './unescape-text.js';

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
/** A text that quotes one that quotes one: a runtime the error of its helper, which quotes a command. */
const DEEPEST_QUOTE = 3;
/** What stands in the place of a value. */
export const HIDDEN = '***';

/** From its first character to the one behind it. */
type Range = readonly [number, number];

/**
 * Takes the values of Secrets out of texts that others have written: the output of a probe or of a hook, the words of a
 * runtime.
 *
 * It knows values of six characters or more, without the white space round them, and of those with several lines each
 * line by itself. One that the end of a text cuts off is hidden, too, and so is what begins as a value does for 32
 * characters, and one that is quoted with escapes, as Go and JSON have them. What is learnt stays known when the Secret
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
    if (this.#pieces.size === 0) return text;
    let shown = '';
    let from = 0;
    for (const [start, end] of this.#findQuoted(text)) {
      // One of them may hold another, or a part of it.
      if (start >= from) shown += text.slice(from, start) + HIDDEN;
      from = Math.max(from, end);
    }
    return from === 0 ? text : shown + text.slice(from);
  }

  /** Where values stand, quoted or not, in the order of the text. */
  #findQuoted(text: string): readonly Range[] {
    const found = this.#find(text);
    let isQuoted = false;
    let quoted = { text, places: undefined as Uint32Array | undefined };
    for (let depth = 0; depth < DEEPEST_QUOTE; depth++) {
      const inner = unescapeText(quoted.text);
      if (inner === undefined) break;
      const outer = quoted.places;
      const places = outer === undefined ? inner.places : inner.places.map((at) => outer[at]!);
      quoted = { text: inner.text, places };
      for (const [start, end] of this.#find(inner.text)) {
        isQuoted = true;
        found.push([places[start]!, places[end]!]);
      }
    }
    return isQuoted ? found.sort(([one], [other]) => one - other) : found;
  }

  /** Where values stand as they are, in the order of the text. */
  #find(text: string): Range[] {
    const found: Range[] = [];
    for (let at = 0; at + SHORTEST <= text.length; at++) {
      const length = this.#tree.lengthAt(text, at);
      if (length === 0) continue;
      found.push([at, at + length]);
      at += length - 1;
    }
    return found;
  }

  #learnPiece(piece: string): void {
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
