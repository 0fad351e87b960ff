import { status } from '@grpc/grpc-js';
import { ContainerState } from '../cri/generated/runtime/v1/cri.js';
import { messageOf } from '../util/errors.js';
import { type ContainerExit, type ContainerFiles } from './container-files.js';
import { type ContainerRecord } from './container-record.js';
import { type ContainerHost, ContainerRun } from './container-run.js';
import { Mutex } from './mutex.js';
import { sendGroupSignal } from './process-table.js';
import { findCommandFault } from './resolve-command.js';
import { RpcError, notFound, refused } from './rpc-error.js';
import { type ContainerCommand } from './supervisor-script.js';

/** What a {@link Container} needs. */
export interface ContainerOptions {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly host: ContainerHost;
  /** Called when it was seen to start and to end, after its state says so. */
  readonly onStarted: (container: Container) => void;
  readonly onStopped: (container: Container) => void;
}

/** A killed process that is not gone by then hangs in the kernel. */
const KILL_MS = 10_000;

/**
 * One container: what can be done to it, and its state.
 *
 * ```
 *   created ──start──► running ──its process ends──► exited
 *      └────start fails────────────────────────────────▲
 * ```
 *
 * The state is derived from two facts that its supervisor writes down: that it started, and how it ended.
 */
export class Container {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly #host: ContainerHost;
  readonly #run: ContainerRun;
  readonly #mutex = new Mutex();
  #retired = false;

  constructor(options: ContainerOptions) {
    const { record, files, host } = options;
    this.record = record;
    this.files = files;
    this.command = options.command;
    this.#host = host;
    this.#run = new ContainerRun({
      id: record.id,
      files,
      logPath: record.logPath,
      host,
      onStarted: () => options.onStarted(this),
      onStopped: () => options.onStopped(this),
    });
  }

  get id(): string {
    return this.record.id;
  }

  get state(): ContainerState {
    if (this.#run.exit !== undefined) return ContainerState.CONTAINER_EXITED;
    return this.#run.start === undefined
      ? ContainerState.CONTAINER_CREATED
      : ContainerState.CONTAINER_RUNNING;
  }

  get running(): boolean {
    return this.state === ContainerState.CONTAINER_RUNNING;
  }

  /** How it ended, never before it started; undefined as long as it has not. */
  get exit(): ContainerExit | undefined {
    const { exit } = this.#run;
    return (
      exit && {
        ...exit,
        finishedAtNs: max(exit.finishedAtNs, max(this.startedAtNs, this.record.createdAtNs)),
      }
    );
  }

  /** Nanoseconds since the epoch, never before its creation; 0n when it never started. */
  get startedAtNs(): bigint {
    const { start } = this.#run;
    return start === undefined ? 0n : max(start.startedAtNs, this.record.createdAtNs);
  }

  /** The entrypoint's pid while it runs, else 0. */
  get pid(): number {
    return this.running ? (this.#run.start?.main.pid ?? 0) : 0;
  }

  /** Finds out what became of a container that an earlier runtime has left. */
  async restore(): Promise<void> {
    await this.#run.restore();
    const main = this.#run.start?.main;
    if (!this.running && main !== undefined) this.#host.processes.sweepSoon(this.id, main);
  }

  /**
   * Starts it and resolves once its process exists. Rejects, and the container is exited, when it cannot be run.
   *
   * @param assertAllowed called at the last moment; what it throws leaves everything as it was.
   */
  start(assertAllowed: () => void): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#retired) throw notFound('container', this.id);
      if (this.state !== ContainerState.CONTAINER_CREATED) {
        throw refused(
          `failed to start container "${this.id}": container is in ${STATE_WORDS[this.state]} state`,
        );
      }
      assertAllowed();
      const fault = await this.#prepare();
      if (fault === undefined) await this.#run.launch();
      else await this.#run.recordStartFailure(fault);
      if (this.#run.start !== undefined) return;
      throw refused(`failed to start container "${this.id}": ${this.exit?.message ?? 'nothing happened'}`);
    });
  }

  /** Asks its process group to end, kills what is left after the timeout. Does nothing unless it runs. */
  async stop(signal: NodeJS.Signals | number, timeoutMs: number): Promise<void> {
    // A start that is under way comes first, else what it starts would go on.
    await this.#mutex.run(() => Promise.resolve());
    const main = this.#run.start?.main;
    if (!this.running || main === undefined) return;
    if (timeoutMs > 0) {
      sendGroupSignal(main, signal);
      if (await this.#run.waitForExit(timeoutMs)) {
        await this.#host.processes.killContainer(this.id, main);
        return;
      }
    }
    await this.#kill();
  }

  /** Ends it and everything that it has started, at once, then calls `forget`. Only the first call does anything. */
  retire(forget: () => Promise<void>): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#retired) return;
      await this.#kill();
      await forget();
      this.#retired = true;
    });
  }

  /** Goes on logging in a new file at the log's path. */
  async reopenLog(): Promise<void> {
    if (!this.running) throw refused('container is not running');
    await this.#run.reopenLog();
  }

  /** Looks at the facts although nothing was announced. */
  scan(): Promise<void> {
    return this.#run.scan();
  }

  /** Lets go of it without changing anything about it. */
  close(): Promise<void> {
    return this.#run.close();
  }

  /** Why it cannot be started; undefined when it can. */
  async #prepare(): Promise<string | undefined> {
    const fault = await findCommandFault(this.command);
    if (fault !== undefined) return `unable to start container process: ${fault}`;
    try {
      await this.#run.openLog();
      return undefined;
    } catch (error) {
      return `failed to open its log: ${messageOf(error)}`;
    }
  }

  async #kill(): Promise<void> {
    const { processes } = this.#host;
    const main = this.#run.start?.main;
    const { running } = this;
    if (main === undefined || !(running || processes.awaitsSweep(this.id))) return;
    if (running) sendGroupSignal(main, 'SIGKILL');
    await processes.killContainer(this.id, main);
    if (await this.#run.waitForExit(KILL_MS)) return;
    const message = `container "${this.id}" is still there ${KILL_MS / 1000} s after SIGKILL: pid ${main.pid}`;
    throw new RpcError(status.DEADLINE_EXCEEDED, message);
  }
}

const STATE_WORDS: Record<ContainerState, string> = {
  [ContainerState.CONTAINER_CREATED]: 'CONTAINER_CREATED',
  [ContainerState.CONTAINER_RUNNING]: 'CONTAINER_RUNNING',
  [ContainerState.CONTAINER_EXITED]: 'CONTAINER_EXITED',
  [ContainerState.CONTAINER_UNKNOWN]: 'CONTAINER_UNKNOWN',
};

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
