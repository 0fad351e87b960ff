import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a {@link Component} is. */
export interface ComponentOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Whether it answers; asked again and again after each start. */
  readonly isReady: () => Promise<boolean>;
}

const MAX_START_MS = 120_000;
const MAX_STOP_MS = 20_000;
const LOOK_EVERY_MS = 100;
const LOG_TAIL_BYTES = 3_000;

/** One process of a control plane, which a test may kill and start again. It does not outlive this process. */
export class Component {
  readonly #options: ComponentOptions;
  #child: ChildProcess | undefined;

  constructor(options: ComponentOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it and waits until it is ready. Rejects with the end of its log when it ends instead. */
  async start(): Promise<void> {
    const { name, program, args, logFile } = this.#options;
    const log = openSync(logFile, 'a');
    try {
      // A run of tests that is killed takes it along.
      const wrapped = ['--pdeathsig', 'KILL', program, ...args];
      this.#child = spawn('setpriv', wrapped, { stdio: ['ignore', log, log] });
    } finally {
      closeSync(log);
    }
    const child = this.#child;
    const giveUpAt = performance.now() + MAX_START_MS;
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null) throw this.#failure(`${name} has ended`);
      if (await this.#options.isReady().catch(() => false)) return;
      if (performance.now() > giveUpAt) throw this.#failure(`${name} is not ready`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Ends it as a power cut would. Does nothing when it does not run. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Asks it to end, and kills it when it does not. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** What it has logged last. */
  logTail(): string {
    return readFileSync(this.#options.logFile, 'utf8').slice(-LOG_TAIL_BYTES);
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const impatient = setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MS);
    await ended;
    clearTimeout(impatient);
  }

  #failure(what: string): Error {
    return new Error(`${what}; its log ends with:\n${this.logTail()}`);
  }
}
