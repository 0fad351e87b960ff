import { type ChildProcess, spawn } from 'node:child_process';
import { copyFile, open, readFile, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { probeEndpoint } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { RUNTIME_ROOT_LOCK } from '#base/fs/folder-lock.js';

/** How an embedded runtime is started. */
export interface RuntimeProcessOptions {
  /** The command that starts podloop, to be followed by `runtime …`: the interpreter and the script. */
  readonly podloopCommand: readonly [string, ...string[]];
  /** An existing folder of its own for socket, state and log. */
  readonly folder: string;
  readonly clock: Clock;
  /**
   * The runtime ends once this has ended, however that happened, and no pod is left: a process, or any agent
   * of a root folder.
   */
  readonly endsWith: { readonly processId: number } | { readonly agentRootDir: string };
  /** Further flags of `podloop runtime`: isolation, images, what to do with pods at the end. */
  readonly flags: readonly string[];
}

/**
 * Limit for a start and for an end of the runtime, in milliseconds.
 *
 * One that exits is noticed at once. One that runs may need minutes to load its program on a busy machine.
 */
const START_LIMIT_MS = 300_000;
const END_LIMIT_MS = 10_000;
/** How long another runtime may have the folder before its owner is reported. */
const TAKEN_LIMIT_MS = 20_000;
const ASK_AGAIN_MS = 50;
/** Maximum size of the log, in bytes; beyond that it starts again, and one older part is kept. */
const LARGEST_LOG_BYTES = 10 * 2 ** 20;

/**
 * An embedded runtime in a process of its own.
 *
 * The process has its own session, so that a Ctrl-C in the terminal does not reach it. If it is killed, its
 * pods stay as they are, and the next one with the same folder takes them over. Its flags say whether it
 * removes them when it is asked to end.
 */
export class RuntimeProcess {
  readonly endpoint: string;
  readonly #options: RuntimeProcessOptions;
  #child: ChildProcess | undefined;
  #starts = 0;

  constructor(options: RuntimeProcessOptions) {
    this.#options = options;
    this.endpoint = `unix://${join(options.folder, 'cri.sock')}`;
  }

  /** How often it was started, with and without success. */
  get starts(): number {
    return this.#starts;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Starts it, repeatedly if necessary, and resolves when one answers. Rejects with its last log lines when
   * none does.
   *
   * If one that an earlier agent has just started, or that is just ending, has the folder, waits for its
   * start or its end.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + TAKEN_LIMIT_MS;
    for (;;) {
      const failure = await this.#tryStart(clock.monotonicMs() + START_LIMIT_MS, signal);
      if (failure === undefined) return;
      const isTaken = failure.message.includes(RUNTIME_ROOT_LOCK.owner);
      if (!isTaken || clock.monotonicMs() > untilMs) throw failure;
    }
  }

  /** Why it does not start; undefined when one answers. */
  async #tryStart(untilMs: number, signal: AbortSignal | undefined): Promise<PodloopError | undefined> {
    const { clock } = this.#options;
    const { said, failed } = await this.#spawn();
    for (;;) {
      try {
        await probeEndpoint(this.endpoint, { signal, clock });
        return undefined;
      } catch (error) {
        signal?.throwIfAborted();
        if (!this.isRunning || failed() !== undefined || clock.monotonicMs() > untilMs) {
          const why = failed() ?? (this.isRunning ? messageOf(error) : `it ended: ${await said()}`);
          const message = `the embedded runtime did not come up: ${why}`;
          return new PodloopError('CRI_UNAVAILABLE', message, { cause: error });
        }
      }
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
  }

  async #spawn(): Promise<{
    readonly said: () => Promise<string>;
    readonly failed: () => string | undefined;
  }> {
    const { podloopCommand, folder, endsWith, flags } = this.#options;
    const [program, ...args] = podloopCommand;
    await this.boundLog();
    await using log = await open(this.#logPath, 'a');
    const { size: start } = await log.stat();
    const place = ['--listen', this.endpoint, '--root', join(folder, 'root')];
    const lifetime =
      'processId' in endsWith
        ? ['--exit-with-parent', String(endsWith.processId)]
        : ['--exit-with-agent', endsWith.agentRootDir];
    const words = [...args, 'runtime', ...place, ...lifetime, ...flags];
    const child = spawn(program, words, { stdio: ['ignore', log.fd, log.fd], detached: true });
    this.#child = child;
    this.#starts++;
    // It may outlive this process, which must not wait for it.
    child.unref();
    let failure: string | undefined;
    child.on('error', (error) => (failure = error.message));
    return { said: () => this.#lastWords(start), failed: () => failure };
  }

  /** Ends it, by force if it does not respond; resolves when it has ended. Idempotent. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const force = this.#options.clock.setTimer(END_LIMIT_MS, () => child.kill('SIGKILL'));
    await ended;
    force.cancel();
  }

  /**
   * Starts the log again when it has grown too long; to be called now and then. Never rejects.
   *
   * The log is copied and emptied rather than renamed, as a runtime that outlives its agent keeps it open and
   * appends. A full or broken disk is no reason to end anything.
   */
  async boundLog(): Promise<void> {
    const path = this.#logPath;
    const size = await stat(path).then(
      (facts) => facts.size,
      () => 0,
    );
    if (size <= LARGEST_LOG_BYTES) return;
    // A disk without room for a copy needs the rest all the more.
    await copyFile(path, `${path}.1`).catch(() => undefined);
    await truncate(path).catch(() => undefined);
  }

  get #logPath(): string {
    return join(this.#options.folder, 'runtime.log');
  }

  /** `start`: the size of the log at the start; what stands before comes from others. */
  async #lastWords(start: number): Promise<string> {
    const log = await readFile(this.#logPath).catch(() => Buffer.alloc(0));
    return log.subarray(start).toString().trim().split('\n').slice(-3).join(' / ');
  }
}
