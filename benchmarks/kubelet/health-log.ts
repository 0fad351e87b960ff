import { createInterface } from 'node:readline';
import { type Readable } from 'node:stream';

/** A kubelet's page about its health says nothing of its generator: its log does, and again every few seconds. */
const COMPLAINT = /PLEG is not healthy|skipping pod synchronization/i;
/** A kubelet that is not in order says so again within 5 s. */
export const COMPLAINT_EVERY_MS = 6_000;

/** When an agent has written that its generator is not healthy, in wall-clock milliseconds. */
export class HealthLog {
  readonly #now: () => number;
  readonly #complaintsMs: number[] = [];

  constructor(now: () => number = () => Date.now()) {
    this.#now = now;
  }

  /** Reads a log to its end. */
  read(stream: Readable): void {
    createInterface({ input: stream }).on('line', (line) => this.note(line));
  }

  /** A line, as it comes. */
  note(line: string): void {
    if (COMPLAINT.test(line)) this.#complaintsMs.push(this.#now());
  }

  /** The first complaint since then; undefined when there was none. */
  findFirst(sinceMs: number): number | undefined {
    return this.#complaintsMs.find((atMs) => atMs >= sinceMs);
  }

  /** The last one since then; undefined when there was none. */
  findLast(sinceMs: number): number | undefined {
    return this.#complaintsMs.findLast((atMs) => atMs >= sinceMs);
  }

  /** Whether it has been silent for so long that it is well again. */
  isQuiet(): boolean {
    return this.findFirst(this.#now() - COMPLAINT_EVERY_MS) === undefined;
  }
}
