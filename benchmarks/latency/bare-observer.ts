import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** An end, as a bare stream and one status call saw it; wall-clock milliseconds. */
export interface BareSighting {
  readonly containerId: string;
  readonly eventMs: number;
  /** The status was there. */
  readonly knownMs: number;
}

/** A process that reads the event stream and asks for one status each: what the generator is held against. */
export class BareObserver implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** Resolves once its stream has had time to come up. */
  static async start(endpoint: string): Promise<BareObserver> {
    const program = fileURLToPath(new URL('./bare-observer-process.js', import.meta.url));
    const observer = new BareObserver(fork(program, [endpoint]));
    await observer.#message();
    return observer;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'exit');
  }

  /** What it has seen so far, by container; of each its first. */
  async sightings(): Promise<Map<string, BareSighting>> {
    const answer = this.#message();
    this.#child.send('report');
    const seen = (await answer) as BareSighting[];
    return new Map(seen.toReversed().map((sighting) => [sighting.containerId, sighting]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }

  async #message(): Promise<unknown> {
    const ended = this.#ended.then(() => {
      throw new Error('the bare observer ended by itself');
    });
    // Its end is news only to whoever waits.
    ended.catch(() => undefined);
    const [message] = (await Promise.race([once(this.#child, 'message'), ended])) as [unknown];
    return message;
  }
}
