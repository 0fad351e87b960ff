import { SliceYielder } from '../util/slices.js';

/** Shorter texts are words like any other: taking them out of sentences would leave no sentence. */
const SHORTEST = 4;
/** Longer ones are looked for piece by piece. */
const LONGEST = 4_096;
const MOST_PIECES = 16;
/** Of a text of several lines some errors quote one. Shorter ones are words of a script, or brackets. */
const SHORTEST_LINE = 8;
const MOST_LINES = 64;
const MOST_SECRETS = 20_000;
/** Compared between two turns of the event loop, in characters. */
const CHARACTERS_PER_SLICE = 4 * 2 ** 20;

/** Where a text begins and ends in another. */
export type Span = readonly [begin: number, end: number];

/** A text that was taken out, as the texts that it may be found by. */
export interface Secret {
  readonly texts: readonly string[];
  /** Whether it comes again and again, as what lists tell: it would crowd out those that pass once. */
  readonly isCommon: boolean;
}

/** What is to be looked for: as it is, and as runtimes write it in quotes, in an address, or without line ends. */
export function toSecret(value: string, isCommon: boolean): Secret {
  const texts = new Set<string>();
  // Words of commands such as --password=…
  const assigned = value.slice(value.indexOf('=') + 1);
  const lines = value.split('\n', MOST_LINES).map((line) => line.trim());
  const longLines = lines.filter(({ length }) => length >= SHORTEST_LINE);
  for (const form of new Set([value, value.trim(), assigned, ...longLines])) {
    const written = [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)];
    for (const text of written) {
      for (let at = 0; at < text.length && at < LONGEST * MOST_PIECES; at += LONGEST) {
        const piece = text.slice(at, at + LONGEST);
        if (piece.length >= SHORTEST) texts.add(piece);
      }
    }
  }
  return { texts: [...texts], isCommon };
}

/**
 * The texts that were taken out of messages lately, to be taken out of sentences, too: runtimes quote in their errors
 * what they were asked to do.
 */
export class SecretBook {
  readonly #common = new Set<string>();
  readonly #rare = new Set<string>();

  /** Remembers it; of too many the oldest is forgotten. */
  add({ texts, isCommon }: Secret): void {
    const secrets = isCommon ? this.#common : this.#rare;
    for (const text of texts) {
      secrets.delete(text);
      secrets.add(text);
      if (secrets.size > MOST_SECRETS) secrets.delete(secrets.values().next().value!);
    }
  }

  /** Everywhere they stand in a text; those of different ones may overlap. */
  async findIn(text: string): Promise<Span[]> {
    const found: Span[] = [];
    const slices = new SliceYielder({ itemsPerSlice: CHARACTERS_PER_SLICE });
    for (const secrets of [this.#rare, this.#common]) {
      for (const secret of secrets) {
        for (const span of spansOf(secret, text)) found.push(span);
        if (slices.isFull(text.length)) await slices.nextSlice();
      }
    }
    return found;
  }
}

/** Where the one stands in the other; where it overlaps with itself that is one place. */
function spansOf(secret: string, text: string): Span[] {
  const spans: [begin: number, end: number][] = [];
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
    const last = spans.at(-1);
    if (last !== undefined && at <= last[1]) last[1] = at + secret.length;
    else spans.push([at, at + secret.length]);
  }
  return spans;
}
