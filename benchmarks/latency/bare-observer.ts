import { fileURLToPath } from 'node:url';
import { ForkedProcess } from '../forked-process.js';

/** An end, as a bare stream and one status call saw it; wall-clock milliseconds. */
export interface BareSighting {
  readonly containerId: string;
  readonly eventMs: number;
  /** The status was there. */
  readonly knownMs: number;
}

/** A process that reads the event stream and asks for one status each: what the generator is held against. */
export class BareObserver implements AsyncDisposable {
  readonly #process: ForkedProcess;

  /** Resolves once its stream has had time to come up. */
  static async start(endpoint: string, signal: AbortSignal): Promise<BareObserver> {
    const program = fileURLToPath(new URL('./bare-observer-process.js', import.meta.url));
    return new BareObserver(
      await ForkedProcess.start(program, { name: 'the bare observer', args: [endpoint], signal }),
    );
  }

  private constructor(forked: ForkedProcess) {
    this.#process = forked;
  }

  /** What it has seen so far, by container; of each its first. */
  async sightings(): Promise<Map<string, BareSighting>> {
    const seen = (await this.#process.ask('report')) as BareSighting[];
    return new Map(seen.toReversed().map((sighting) => [sighting.containerId, sighting]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
