import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Worker } from 'node:worker_threads';
import { abortable } from '#base/async/abortable.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { type Logger } from '#base/log/logger.js';
import { Mutex } from '#base/async/mutex.js';
import { startThread } from '#base/program/start-thread.js';
import { type WorkerAnswer, type WorkerRequest } from './manifest-worker.js';
import { type SourceObject } from './source-object.js';
import { type ParsedManifest, type SourcePod } from './source-pod.js';
import { type ManifestParser, type ParseOutcome, type ParseRequest, parseHere } from './parse-manifest.js';

/** What a {@link ThreadedManifestParser} needs. */
export interface ThreadedManifestParserOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Limit for one file, in milliseconds (default: 20 s); one of the largest size takes 2 s on an idle
   * machine.
   */
  readonly deadlineMs?: number;
  /** Without work the thread ends after this time, until there is work again (default: 30 s). */
  readonly idleMs?: number;
  /** Compiled manifest-worker.ts (default: the one beside this file). */
  readonly entry?: URL;
}

/** Loading the modules takes 0.1 s on an idle machine. */
const START_DEADLINE_MS = 60_000;
// A file of the largest size takes some 100 MiB, one with the maximum of values 250.
const MAX_MEMORY_MIB = 384;
/** Node's errors for a missing file that starts a thread, and for one that it imports. */
const MISSING_FILE_CODES = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  /** Rejects when it ends by itself. */
  readonly ended: Promise<never>;
}

/**
 * Parses manifests in a thread of its own, one at a time in the order of the requests.
 *
 * A file of the largest size takes seconds, and a malicious one much longer, so the event loop must not wait
 * for it. What is not done by the deadline is given up together with the thread.
 *
 * The names of the thread's files change with their contents (`scripts/bundle-program.mjs`), so an upgrade
 * under a running agent removes them without a replacement. From then on, manifests are parsed in the event
 * loop by the loaded code: blocking it for some time is better than ignoring what people write.
 */
export class ThreadedManifestParser implements ManifestParser, AsyncDisposable {
  readonly #options: Required<ThreadedManifestParserOptions>;
  #thread: Thread | undefined;
  #idle: ClockTimer | undefined;
  readonly #requests = new Mutex();
  #closed = false;
  #isReplaced = false;

  constructor(options: ThreadedManifestParserOptions) {
    const entry = new URL('./manifest-worker.js', import.meta.url);
    this.#options = { deadlineMs: 20_000, idleMs: 30_000, entry, ...options };
  }

  async parse(request: ParseRequest, signal: AbortSignal): Promise<ParseOutcome> {
    return abortable(
      this.#requests.run(async () => this.#parse(request, signal)),
      signal,
    );
  }

  /** Ends the thread, and gives up what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  async #parse(request: ParseRequest, signal: AbortSignal): Promise<ParseOutcome> {
    signal.throwIfAborted();
    if (this.#closed) return { kind: 'gave-up', why: 'podloop is ending' };
    if (this.#isReplaced) return await this.#parseHere(request, signal);
    this.#idle?.cancel();
    const thread = (this.#thread ??= startParser(this.#options.entry));
    try {
      const started = await this.#within(START_DEADLINE_MS, thread, thread.ready);
      if (started === 'too late') return await this.#giveUp('the thread that reads manifests does not start');
      const { deadlineMs } = this.#options;
      const read = await this.#within(deadlineMs, thread, abortable(ask(thread.worker, request), signal));
      if (read === 'too late')
        return await this.#giveUp(`reading it takes longer than ${deadlineMs / 1000} s`);
      if ('error' in read) return { kind: 'gave-up', why: `it cannot be read: ${read.error}` };
      return { kind: 'parsed', manifest: read };
    } catch (error) {
      if (signal.aborted) {
        await this.#end();
        throw error;
      }
      if (isFileMissing(error)) {
        await this.#end();
        this.#noteReplaced(error);
        return await this.#parseHere(request, signal);
      }
      return await this.#giveUp(
        'reading it takes too much memory, or the thread that reads manifests failed',
      );
    } finally {
      this.#endWhenIdle();
    }
  }

  #noteReplaced(error: Error): void {
    this.#isReplaced = true;
    const message =
      'Files of the program were replaced, restart the agent: until then manifests are read in its main thread';
    this.#options.logger.warn(message, { err: messageOf(error) });
  }

  async #parseHere(request: ParseRequest, signal: AbortSignal): Promise<ParseOutcome> {
    // There may be many in a row.
    await nextTurn();
    signal.throwIfAborted();
    return parseHere(request);
  }

  async #within<T>(deadlineMs: number, { ended }: Thread, work: Promise<T>): Promise<T | 'too late'> {
    let timer: ClockTimer | undefined;
    const late = new Promise<'too late'>((resolve) => {
      const { clock } = this.#options;
      timer = startFairDeadline({ clock, deadlineMs, onExpired: () => resolve('too late'), unref: true });
    });
    try {
      return await Promise.race([work, ended, late]);
    } finally {
      timer?.cancel();
    }
  }

  async #giveUp(why: string): Promise<ParseOutcome> {
    await this.#end();
    return { kind: 'gave-up', why };
  }

  #endWhenIdle(): void {
    if (this.#closed) return;
    const { clock, idleMs } = this.#options;
    this.#idle = clock.setTimer(idleMs, () => void this.#end(), { unref: true });
  }

  async #end(): Promise<void> {
    this.#idle?.cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.worker.terminate();
  }
}

function isFileMissing(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && MISSING_FILE_CODES.includes(String(error.code));
}

function startParser(entry: URL): Thread {
  const worker = startThread(entry, {
    // Flags of the process (an inspector, a loader) are not for the thread.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
  });
  // A pending request keeps the process alive by itself.
  worker.unref();
  const ready = new Promise<void>((resolve) => {
    worker.once('message', () => resolve());
  });
  const ended = new Promise<never>((_, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread ended with ${code}`)));
  });
  // It may end while nobody waits.
  ended.catch(() => undefined);
  return { worker, ready, ended };
}

/** Collects all parts of an answer. One request at a time. */
async function ask(
  worker: Worker,
  request: ParseRequest,
): Promise<ParsedManifest | { readonly error: string }> {
  const pods: SourcePod[] = [];
  const objects: SourceObject[] = [];
  let next: WorkerRequest = request;
  for (;;) {
    const answer = await answerTo(worker, next);
    if ('error' in answer) return answer;
    pods.push(...answer.pods);
    objects.push(...answer.objects);
    if (answer.isLast) return { pods, objects, problems: answer.problems };
    next = 'more';
  }
}

async function answerTo(worker: Worker, request: WorkerRequest): Promise<Exclude<WorkerAnswer, 'ready'>> {
  return new Promise((resolve) => {
    worker.once('message', resolve);
    worker.postMessage(request);
  });
}
