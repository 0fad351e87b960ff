/**
 * Pods, ConfigMaps and Secrets from a URL.
 *
 * In: the answers of a server that is polled every 20 s. Out: the contents of the last good answer, delivered
 * to a {@link PodSourcePort}; problems, in a {@link ProblemBook}.
 *
 * It assumes nothing about the server, which may be away, slow, or return something else. Only an answer
 * without a problem removes pods; until then the last good one stays, even over a restart of the agent.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { Backoff } from '#base/async/backoff.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { sourceLookEnded } from '#base/channels/config-channels.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { aboutWhole } from '../config-problem.js';
import { fetchManifest } from './fetch-manifest.js';
import { FileVersions } from './file-versions.js';
import { LastGoodStore } from './last-good-store.js';
import { type ManifestParser } from '../manifests/parse-manifest.js';
import { type PodSourcePort } from '../pod-config.js';
import { type ProblemBook } from '../problem-book.js';
import { RetryTimes } from './retry-times.js';

/** What an {@link HttpSource} needs. */
export interface HttpSourceOptions extends Publisher {
  /** http or https; a name and password in it are sent as basic authorization. */
  readonly url: URL;
  readonly nodeName: string;
  readonly port: PodSourcePort;
  readonly problems: ProblemBook;
  readonly parser: ManifestParser;
  /** Where last good versions are stored; created when it is missing. */
  readonly lastGoodFolder: string;
  readonly clock: Clock;
  readonly logger?: Logger;
  /** Sent with each request to the server of the URL (default: none). */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Time between requests in milliseconds (default: 20 s, like a kubelet's httpCheckFrequency). */
  readonly httpCheckFrequencyMs?: number;
  /** Timeout of one request, in milliseconds (default: 10 s). */
  readonly deadlineMs?: number;
}

/** `http`: the source of deliveries and problems, and part of the uid of its pods. */
export const HTTP_SOURCE = 'http';

/** Retries are quicker at first, for a network that starts after the agent. */
const FIRST_RETRY_MS = 1_000;
/** The only file. */
const NAME = '';

/** Polls a URL for manifests and delivers their pods. */
export class HttpSource {
  readonly #options: Required<Omit<HttpSourceOptions, 'channels'>> & Publisher;
  readonly #place: string;
  readonly #origin: string;
  readonly #store: LastGoodStore;
  readonly #versions: FileVersions;
  readonly #firstTries: Backoff;
  readonly #retries: RetryTimes;
  #etag: string | undefined;
  #isComplete = false;

  constructor(options: HttpSourceOptions) {
    const defaults = { logger: SILENT_LOGGER, headers: {}, httpCheckFrequencyMs: 20_000, deadlineMs: 10_000 };
    this.#options = { ...defaults, ...options };
    const { url, nodeName, parser, lastGoodFolder: folder, httpCheckFrequencyMs } = this.#options;
    // Neither a password nor a token belongs in a log.
    this.#place = `${url.origin}${url.pathname}`;
    this.#origin = `${this.#place} ${createHash('sha256').update(url.href).digest('hex').slice(0, 16)}`;
    this.#store = new LastGoodStore({ folder, source: HTTP_SOURCE, nodeName });
    this.#versions = new FileVersions({
      ...{ source: HTTP_SOURCE, nodeName, parser, store: this.#store, locate: () => this.#place },
    });
    this.#firstTries = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: httpCheckFrequencyMs });
    this.#retries = new RetryTimes(httpCheckFrequencyMs);
  }

  /** Polls and delivers until the signal aborts; then resolves. Once. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      const kept = await this.#store.load();
      this.#versions.restore(kept, this.#origin);
      while (!signal.aborted) {
        const delayMs = await this.#poll(signal);
        await this.#options.clock.sleep(delayMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Polls once; returns in how many milliseconds to poll again. */
  async #poll(signal: AbortSignal): Promise<number> {
    const { url, headers, deadlineMs, clock, httpCheckFrequencyMs, logger } = this.#options;
    const startedMs = clock.monotonicMs();
    // What was given up is fetched again some time later, changed or not.
    if (this.#retries.takeDue(startedMs).length > 0) this.#etag = undefined;
    logger.info('Reading config URL', { url: this.#place }, 4);
    const etag = this.#etag;
    const answer = await fetchManifest({ url, headers, etag, deadlineMs, clock }, signal);
    if (answer.kind === 'failed') {
      this.#publish(startedMs, 0, `cannot be read: ${answer.why}`);
      return this.#isComplete ? httpCheckFrequencyMs : this.#firstTries.nextMs();
    }
    if (answer.kind === 'body') await this.#judge(answer.bytes, answer.etag, signal);
    await this.#versions.save();
    const isFirst = !this.#isComplete && !this.#versions.hasLost;
    this.#isComplete ||= isFirst;
    this.#publish(startedMs, answer.kind === 'body' ? 1 : 0, undefined);
    if (isFirst) await this.#store.prune(this.#origin, [NAME]);
    return httpCheckFrequencyMs;
  }

  async #judge(bytes: Uint8Array, etag: string | undefined, signal: AbortSignal): Promise<void> {
    const content = { kind: 'read', bytes, sign: '' } as const;
    const verdict = await this.#versions.read(NAME, content, () => false, signal);
    this.#retries.note(NAME, verdict, this.#options.clock.monotonicMs());
    this.#etag = etag;
  }

  #publish(startedMs: number, parsed: number, error: string | undefined): void {
    const { clock, port, problems: book } = this.#options;
    const { pods, objects, problems } = this.#versions.merge(() => false, true);
    const kept = this.#versions.heldNames;
    const failure =
      error === undefined ? [] : [aboutWhole(HTTP_SOURCE, this.#place, 'unreadable', error, kept)];
    const all = [...failure, ...problems];
    book.report(HTTP_SOURCE, all);
    const places = new Map(pods.map(({ pod, place }) => [pod.metadata.uid, place]));
    port.deliver(
      pods.map(({ pod }) => pod),
      {
        isComplete: this.#isComplete,
        placeOf: ({ metadata }) => places.get(metadata.uid),
        objects: objects.map(({ object }) => object),
      },
    );
    publishTo(this.#options.channels, sourceLookEnded, {
      ...{ source: HTTP_SOURCE, durationMs: clock.monotonicMs() - startedMs, parsed, error },
      ...{ pods: pods.length, problems: all.length },
    });
  }
}
