import { SliceYielder } from '#base/async/slices.js';

/** Where a text begins and ends in another. */
export type Span = readonly [begin: number, end: number];

/** Texts are found by the longest of these beginnings that they have: few have the same one that is long. */
const PREFIXES = [128, 32, 16, 8, 4];
/** Shorter texts cannot be found. */
export const SHORTEST_INDEXED = 4;
const POSITIONS_PER_SLICE = 4_096;

/** Texts to be found in others, in a time that does not grow with how many there are; of too many the oldest go. */
export class TextIndex {
  readonly #most: number;
  readonly #texts = new Set<string>();
  /** For each length of {@link PREFIXES} the texts by their beginning. */
  readonly #byPrefix = new Map(PREFIXES.map((length) => [length, new Map<string, Set<string>>()]));

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds it as the newest. It has {@link SHORTEST_INDEXED} characters or more. */
  add(text: string): void {
    if (!this.#texts.delete(text)) this.#setOf(text).add(text);
    this.#texts.add(text);
    if (this.#texts.size > this.#most) this.#delete(this.#texts.values().next().value!);
  }

  /** The longest that begins at each place of a text. */
  async findIn(text: string): Promise<Span[]> {
    const found: Span[] = [];
    const slices = new SliceYielder({ itemsPerSlice: POSITIONS_PER_SLICE });
    for (let at = 0; at < text.length; at++) {
      const length = this.#longestAt(text, at);
      if (length > 0) found.push([at, at + length]);
      if (slices.isFull()) await slices.nextSlice();
    }
    return found;
  }

  #longestAt(text: string, at: number): number {
    let longest = 0;
    for (const [length, texts] of this.#byPrefix) {
      if (texts.size === 0 || at + length > text.length) continue;
      for (const candidate of texts.get(text.slice(at, at + length)) ?? []) {
        if (candidate.length > longest && text.startsWith(candidate, at)) longest = candidate.length;
      }
    }
    return longest;
  }

  #delete(text: string): void {
    this.#texts.delete(text);
    const same = this.#setOf(text);
    same.delete(text);
    if (same.size > 0) return;
    const { texts, prefix } = this.#placeOf(text);
    texts.delete(prefix);
  }

  #setOf(text: string): Set<string> {
    const { texts, prefix } = this.#placeOf(text);
    const known = texts.get(prefix) ?? new Set();
    texts.set(prefix, known);
    return known;
  }

  #placeOf(text: string): { readonly texts: Map<string, Set<string>>; readonly prefix: string } {
    const length = PREFIXES.find((each) => each <= text.length) ?? SHORTEST_INDEXED;
    return { texts: this.#byPrefix.get(length)!, prefix: text.slice(0, length) };
  }
}
