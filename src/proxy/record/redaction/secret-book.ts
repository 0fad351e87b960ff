import { SHORTEST_INDEXED, type Span, TextIndex } from '../replay/text-index.js';

/** Shorter texts are words like any other: taking them out of sentences would leave no sentence. */
const SHORTEST = SHORTEST_INDEXED;
/** Longer ones are searched for piece by piece. */
const LONGEST = 4_096;
const MAX_PIECES = 16;
/** Of a text of several lines some errors quote one. Shorter ones are words of a script, or brackets. */
const SHORTEST_LINE = 8;
const MAX_LINES = 64;
const MAX_SECRETS = 20_000;

/** A text that was taken out, as the texts that it may be found by. */
export interface Secret {
  readonly texts: readonly string[];
  /** Whether it repeats, as texts from lists do: it would crowd out those that pass once. */
  readonly isCommon: boolean;
}

/** What is to be looked for: as it is, and as runtimes write it in quotes, in an address, or without line ends. */
export function toSecret(value: string, isCommon: boolean): Secret {
  const texts = new Set<string>();
  // Words of commands such as --password=…
  const assigned = value.slice(value.indexOf('=') + 1);
  const lines = value.split('\n', MAX_LINES).map((line) => line.trim());
  const longLines = lines.filter(({ length }) => length >= SHORTEST_LINE);
  for (const form of new Set([value, value.trim(), assigned, ...longLines])) {
    const written = [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)];
    for (const text of written) {
      for (let at = 0; at < text.length && at < LONGEST * MAX_PIECES; at += LONGEST) {
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
  readonly #common = new TextIndex(MAX_SECRETS);
  readonly #rare = new TextIndex(MAX_SECRETS);

  /** Remembers it; of too many the oldest is forgotten. */
  add({ texts, isCommon }: Secret): void {
    const secrets = isCommon ? this.#common : this.#rare;
    for (const text of texts) secrets.add(text);
  }

  /** Everywhere they stand in a text; they may overlap. */
  async findIn(text: string): Promise<Span[]> {
    return [...(await this.#rare.findIn(text)), ...(await this.#common.findIn(text))];
  }
}
