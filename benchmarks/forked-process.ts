import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { endProcess } from './agents/end-process.js';
import { withDeadline } from './with-deadline.js';

/** What a process that is there has long answered by then. */
const ANSWER_MS = 30_000;
const END_MS = 5_000;

/** What a forked process is known by. */
export interface ForkedProcessOptions {
  /** In the words of an error: `the bare observer`. */
  readonly name: string;
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  /** How long it is waited for, each time. */
  readonly answerMs?: number;
}

/**
 * A part of a benchmark in a Node process of its own, which sends a message once it is ready and one for each that it is
 * asked. Whoever asks waits for the answer before asking again.
 */
export class ForkedProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #options: ForkedProcessOptions;
  readonly #ended = new AbortController();

  /** Resolves once it is ready; one that does not become so is ended. */
  static async start(program: string, options: ForkedProcessOptions): Promise<ForkedProcess> {
    const forked = new ForkedProcess(fork(program, options.args), options);
    try {
      await forked.#message('to be ready');
      return forked;
    } catch (error) {
      await forked[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(child: ChildProcess, options: ForkedProcessOptions) {
    this.#child = child;
    this.#options = options;
    const end = (): void => this.#ended.abort(new Error(`${options.name} ended by itself`));
    child.once('exit', end);
    child.once('error', end);
  }

  /** Its answer. */
  async ask(question: string): Promise<unknown> {
    const answer = this.#message(`to answer "${question}"`);
    if (this.#child.connected) this.#child.send(question);
    return await answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child, END_MS);
  }

  async #message(what: string): Promise<unknown> {
    const { name, signal, answerMs = ANSWER_MS } = this.#options;
    const ended = this.#ended.signal;
    return await withDeadline(`for ${name} ${what}`, answerMs, signal, async (within) => {
      const waiting = AbortSignal.any([within, ended]);
      try {
        const [message] = (await once(this.#child, 'message', { signal: waiting })) as [unknown];
        return message;
      } catch (error) {
        ended.throwIfAborted();
        throw error;
      }
    });
  }
}
