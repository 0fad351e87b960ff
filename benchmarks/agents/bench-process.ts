import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { findProgram } from '../../test/build-state.js';
import { endProcess } from './end-process.js';

/** An end that takes longer is no end. */
const END_MS = 120_000;

/** How {@link BenchProcess.start} starts one. */
export interface BenchProcessOptions {
  /** Told of each line on its standard output, which nobody reads otherwise. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Node's own, before the program. */
  readonly nodeFlags?: readonly string[];
}

/** The built `podloop` as a process of its own. */
export class BenchProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  static async start(args: readonly string[], options: BenchProcessOptions = {}): Promise<BenchProcess> {
    const { onLine, nodeFlags = [] } = options;
    // What users run is what is measured.
    const main = findProgram(process.cwd());
    const stdout = onLine === undefined ? 'ignore' : 'pipe';
    const child = spawn(process.execPath, [...nodeFlags, main, ...args], {
      stdio: ['ignore', stdout, 'ignore'],
    });
    if (onLine !== undefined) createInterface({ input: child.stdout! }).on('line', onLine);
    await once(child, 'spawn');
    return new BenchProcess(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'exit');
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** As with Ctrl-C, and by force when that takes too long. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child, END_MS);
  }
}
