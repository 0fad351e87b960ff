import { type Clock } from '#base/time/clock.js';
import { type ManifestParser, type ParseOutcome, type ParseRequest, parseHere } from './parse-manifest.js';

/** What a {@link PromptManifestParser} needs. */
export interface PromptManifestParserOptions {
  /** For manifests that are not small, or come with others. */
  readonly others: ManifestParser;
  readonly clock: Clock;
}

/** The worst text of this size takes some 20 ms to parse on an idle machine, a pod of that size 2. */
const SMALL_BYTES = 2 * 1024;
/** The share of the event loop's time that parsing here may take at most. */
const MAX_SHARE = 0.1;

/**
 * Parses a single small manifest at once, and passes all others to another parser.
 *
 * Starting a thread takes longer than everything else between a manifest and its container, and a person who
 * writes one manifest would wait for it each time. Many at once are better parsed outside of the event loop.
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
    this.#restedMs = endedMs + (endedMs - beganMs) * (1 / MAX_SHARE - 1);
    return outcome;
  }
}
