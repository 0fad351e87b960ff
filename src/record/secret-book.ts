import { REDACTED } from './redaction-rules.js';

/** Shorter texts are words like any other: taking them out of sentences would leave no sentence. */
const SHORTEST = 4;
const LONGEST = 4_096;
const MOST_SECRETS = 5_000;

/** What a runtime quotes: names of programs, values, paths. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;
/** Ids of containers and sandboxes, which may be told. */
const ID = /^"[0-9a-f]{8,64}"$/;

/**
 * The texts that were taken out of messages lately, to be taken out of sentences, too: runtimes quote in their errors
 * what they were asked to do.
 */
export class SecretBook {
  readonly #secrets = new Set<string>();

  /** Remembers it; of too many the oldest is forgotten. */
  add(secret: string): void {
    if (secret.length < SHORTEST || secret.length > LONGEST) return;
    this.#secrets.delete(secret);
    this.#secrets.add(secret);
    if (this.#secrets.size > MOST_SECRETS) this.#secrets.delete(this.#secrets.values().next().value!);
  }

  /** An error of a runtime without them; with `redactsQuotes` also without what it quotes, unless that is an id. */
  redactError(text: string, redactsQuotes: boolean): string {
    let kept = text;
    if (redactsQuotes)
      kept = text.replaceAll(QUOTED, (quoted) => (ID.test(quoted) ? quoted : `"${REDACTED}"`));
    for (const secret of this.#secrets) {
      if (kept.includes(secret)) kept = kept.replaceAll(secret, REDACTED);
    }
    return kept;
  }
}
