import { type Clock } from '#base/time/clock.js';
import { type ManifestParser, type ParseOutcome, type ParseRequest, parseHere } from './parse-manifest.js';

/** What a {@link PromptManifestParser} needs. */
export interface PromptManifestParserOptions {
  /** For whatever is not small, or comes with others. */
  readonly others: ManifestParser;
  readonly clock: Clock;
}

/** The worst that so many bytes can say takes some 20 ms to read on an idle machine, a pod of that size 2. */
const SMALL_BYTES = 2 * 1024;
/** Reading here may take this share of the event loop's time, and no more. */
const MOST_SHARE = 0.1;

/**
 * Parses a small manifest that comes alone right here, and leaves all others to another parser.
 *
 * To start a thread takes longer than all else that podloop does from a manifest to its container, and a person who
 * writes one manifest would wait for it each time. Many at once are better read beside the event loop.
 */
export class PromptManifestParser implements ManifestParser {
  readonly #others: ManifestParser;
  readonly #clock: Clock;
  #restedMs = 0;

  constructor({ others, clock }: PromptManifestParserOptions) {
    this.#others = others;
    this.#clock = clock;
  }

  async parse(request: ParseRequest, signal: AbortSignal): Promise<ParseOutcome> {
    signal.throwIfAborted();
    const beganMs = this.#clock.monotonicMs();
    if (request.bytes.length > SMALL_BYTES || beganMs < this.#restedMs)
      return await this.#others.parse(request, signal);
    const outcome = parseHere(request);
    const endedMs = this.#clock.monotonicMs();
    this.#restedMs = endedMs + (endedMs - beganMs) * (1 / MOST_SHARE - 1);
    return outcome;
  }
}
