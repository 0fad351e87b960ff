/**
 * Pods, ConfigMaps and Secrets from standard input, once.
 *
 * In: a stream of manifests. Out: everything in it, delivered to a {@link PodSourcePort} when it ends;
 * complete documents as soon as the writer pauses. Nothing is stored over a restart: whoever starts the agent
 * writes again.
 *
 * @module
 */
import { type Readable } from 'node:stream';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { sourceLookEnded } from '#base/channels/config-channels.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { Wakeup } from '#base/async/wakeup.js';
import { aboutWhole, type ConfigProblem } from '../config-problem.js';
import { LARGEST_MANIFEST_BYTES } from '../manifests/manifest-reader.js';
import { type ManifestParser } from '../manifests/parse-manifest.js';
import { type PodSourcePort } from '../pod-config.js';
import { type ProblemBook } from '../problem-book.js';
import { mergeHeld } from './held.js';
import { type ParsedManifest, refuseNewPods } from '../manifests/source-pod.js';

/** What a {@link StdinSource} needs. */
export interface StdinSourceOptions extends Publisher {
  readonly stdin: Readable;
  readonly nodeName: string;
  readonly port: PodSourcePort;
  readonly problems: ProblemBook;
  readonly parser: ManifestParser;
  readonly clock: Clock;
  /** After this time without a byte the complete documents are delivered (default: 200 ms). */
  readonly quietMs?: number;
}

/** `stdin`: the source of deliveries and problems, and part of the uid of its pods. */
export const STDIN_SOURCE = 'stdin';
/** The name of standard input in messages. */
const STDIN_NAME = '<stdin>';

/** Reads manifests from a stream and delivers their pods. */
export class StdinSource {
  readonly #options: Required<Omit<StdinSourceOptions, 'channels'>> & Publisher;
  readonly #wakeup = new Wakeup();
  readonly #chunks: Buffer[] = [];
  #size = 0;
  /** How many chunks there were at the last pause. */
  #judged = 0;
  #hasEnded = false;
  #failure: string | undefined;
  /** Bytes whose pods were delivered. */
  #delivered = 0;
  #read: ParsedManifest = { pods: [], objects: [], problems: [] };

  constructor(options: StdinSourceOptions) {
    this.#options = { quietMs: 200, ...options };
  }

  /** Resolves when the stream has ended and its pods are delivered, or when the signal aborts. Once. */
  async run(signal: AbortSignal): Promise<void> {
    const { stdin } = this.#options;
    const onEnd = (): void => this.#end();
    const onError = (error: Error): void => this.#end(messageOf(error));
    const onData = (chunk: Buffer | string): void => this.#take(Buffer.from(chunk));
    stdin.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onError);
    try {
      while (await this.#pause(signal)) await this.#deliver(this.#completeBytes(), signal);
      await this.#deliver(this.#size, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      // Only this listener hears a later error, so it stays.
      stdin.off('data', onData).off('end', onEnd).off('close', onEnd).pause();
    }
  }

  /** Resolves when the writer pauses after some bytes, or with false when the stream has ended. */
  async #pause(signal: AbortSignal): Promise<boolean> {
    const { clock, quietMs } = this.#options;
    let count: number;
    do {
      count = this.#chunks.length;
      const waitMs = count > this.#judged ? quietMs : undefined;
      if (!this.#hasEnded) await this.#wakeup.wait(clock, waitMs, signal);
    } while (this.#chunks.length > count);
    this.#judged = count;
    return !this.#hasEnded;
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.byteLength;
    // One more byte shows that it is too large.
    if (this.#size > LARGEST_MANIFEST_BYTES) this.#end();
    this.#wakeup.wake();
  }

  #end(failure?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#failure = failure;
    this.#wakeup.wake();
  }

  /** Up to the last marker that ends a document. */
  #completeBytes(): number {
    const text = Buffer.concat(this.#chunks).toString('latin1');
    return Math.max(0, ...[...text.matchAll(DOCUMENT_END)].map(({ index }) => index));
  }

  async #deliver(bytes: number, signal: AbortSignal): Promise<void> {
    const { nodeName, port, problems: book, parser, clock } = this.#options;
    if (bytes === this.#delivered && !this.#hasEnded) return;
    this.#delivered = bytes;
    const startedMs = clock.monotonicMs();
    const request = {
      ...{ bytes: Buffer.concat(this.#chunks).subarray(0, bytes), file: STDIN_NAME },
      origin: { source: STDIN_SOURCE, nodeName },
    };
    const outcome = await parser.parse(request, signal);
    // It still contains what was delivered before it was given up.
    const read =
      outcome.kind === 'parsed' ? refuseNewPods(outcome.manifest) : { ...this.#read, problems: [] };
    const { held: pods, problems } = mergeHeld([read.pods]);
    const { held: objects, problems: objectProblems } = mergeHeld([read.objects]);
    this.#read = read;
    const [gaveUp, failure] = [outcome.kind === 'gave-up' ? outcome.why : undefined, this.#failure];
    const all: ConfigProblem[] = [gaveUp, failure && `cannot be read to its end: ${failure}`]
      .filter((why) => why !== undefined)
      .map((why) => aboutWhole(STDIN_SOURCE, STDIN_NAME, 'unreadable', why));
    for (const problem of [...read.problems, ...problems, ...objectProblems]) {
      all.push({ ...problem, source: STDIN_SOURCE, kept: [] });
    }
    book.report(STDIN_SOURCE, all);
    const isComplete = this.#hasEnded && failure === undefined;
    const places = new Map(pods.map(({ pod, place }) => [pod.metadata.uid, place]));
    port.deliver(
      pods.map(({ pod }) => pod),
      {
        isComplete,
        placeOf: ({ metadata }) => places.get(metadata.uid),
        objects: objects.map(({ object }) => object),
      },
    );
    publishTo(this.#options.channels, sourceLookEnded, {
      ...{ source: STDIN_SOURCE, durationMs: clock.monotonicMs() - startedMs, parsed: 1 },
      ...{ pods: pods.length, problems: all.length, error: failure },
    });
  }
}

const DOCUMENT_END = /^(?:---|\.\.\.)(?=\s|$)/gm;
