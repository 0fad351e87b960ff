import { status } from '@grpc/grpc-js';
import { ContainerState } from '../cri/generated/runtime/v1/cri.js';
import { type Clock } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { type ContainerExit, type ContainerFiles, type ContainerStart } from './container-files.js';
import { ContainerLog } from './container-log.js';
import { type ContainerRecord } from './container-record.js';
import { ContainerWatch } from './container-watch.js';
import { defer } from './deferred.js';
import { Mutex } from './mutex.js';
import { type NanoClock } from './nano-clock.js';
import { sendGroupSignal, type ProcessTable } from './process-table.js';
import { findCommandFault } from './resolve-command.js';
import { RpcError, notFound, refused } from './rpc-error.js';
import { type ContainerCommand } from './supervisor-script.js';
import { adoptSupervisor, spawnSupervisor, type Supervisor } from './supervisor.js';

/** What all containers of a runtime share. */
export interface ContainerHost {
  readonly clock: Clock;
  readonly time: NanoClock;
  readonly logger: Logger;
  readonly processes: ProcessTable;
  readonly bootId: string;
  /** Path of the supervisor's script, and of the folders in which its programs are. */
  readonly script: string;
  readonly path: string;
  /** Called when a container was seen to start and to end, after its state says so. */
  readonly onStarted: (container: Container) => void;
  readonly onStopped: (container: Container) => void;
}

/** What a {@link Container} needs. */
export interface ContainerOptions {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly host: ContainerHost;
}

/** The supervisor's last deeds after the exit record: the output that is still in the pipes. */
const LAST_OUTPUT_MS = 250;
/** A killed process that is not gone by then hangs in the kernel. */
const KILL_MS = 10_000;
/** From the start of a supervisor to that of its container; ample, for a machine under load. */
const START_MS = 30_000;
const START_FAILED_CODE = 128;

/**
 * One container: the facts about it, and what can be done to it.
 *
 * ```
 *   created ──start──► running ──its process ends──► exited
 *      └────start fails────────────────────────────────▲
 * ```
 *
 * The state is derived from two facts that its supervisor writes down: that it started, and how it ended. Exits
 * are seen through inotify or the end of the supervisor; {@link Container.scan} covers what both may miss.
 */
export class Container {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly #host: ContainerHost;
  readonly #mutex = new Mutex();
  readonly #ended = defer<undefined>();
  #start: ContainerStart | undefined;
  #exit: ContainerExit | undefined;
  #run = 0;
  #supervisor: Supervisor | undefined;
  #watch: ContainerWatch | undefined;
  #log: ContainerLog | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #closed = false;
  #retired = false;

  constructor(options: ContainerOptions) {
    this.record = options.record;
    this.files = options.files;
    this.command = options.command;
    this.#host = options.host;
  }

  get id(): string {
    return this.record.id;
  }

  get state(): ContainerState {
    if (this.#exit !== undefined) return ContainerState.CONTAINER_EXITED;
    return this.#start === undefined ? ContainerState.CONTAINER_CREATED : ContainerState.CONTAINER_RUNNING;
  }

  /** How it ended; undefined as long as it has not. */
  get exit(): ContainerExit | undefined {
    return this.#exit && { ...this.#exit, finishedAtNs: max(this.#exit.finishedAtNs, this.startedAtNs) };
  }

  /** Nanoseconds since the epoch; 0n when it never started. */
  get startedAtNs(): bigint {
    return this.#start === undefined ? 0n : max(this.#start.startedAtNs, this.record.createdAtNs);
  }

  /** The entrypoint's pid while it runs, else 0. */
  get pid(): number {
    return this.state === ContainerState.CONTAINER_RUNNING ? (this.#start?.main.pid ?? 0) : 0;
  }

  /** Finds out what became of a container that an earlier runtime has left. Sends no events of the past. */
  async restore(): Promise<void> {
    const { bootId, clock } = this.#host;
    const supervisor = await this.#findRun();
    this.#start = supervisor && (await this.files.findStart());
    this.#exit = await this.files.findExit();
    if (supervisor === undefined) return;
    if (supervisor.bootId === bootId) this.#supervisor = adoptSupervisor(supervisor.identity, clock);
    await this.#openLog();
    if (this.#supervisor?.hasEnded() === false) this.#startWatch();
    if (this.#exit === undefined) {
      await this.#look();
      return;
    }
    await this.#drainLog();
    if (this.#start !== undefined) this.#host.processes.sweepSoon(this.id, this.#start.main);
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
      const fault = await findCommandFault(this.command);
      if (fault !== undefined) await this.#failStart(`unable to start container process: ${fault}`);
      await this.#openLog().catch((error: unknown) =>
        this.#failStart(`failed to open its log: ${messageOf(error)}`),
      );
      this.#startWatch();
      const { script, path, clock } = this.#host;
      const supervisor = spawnSupervisor({
        script,
        dir: this.files.dir,
        run: this.#run,
        log: this.#log !== undefined,
        path,
        clock,
        onEnd: () => void this.#look(),
      });
      this.#supervisor = supervisor;
      await this.#waitForStart(supervisor);
    });
  }

  /** Asks its process group to end, kills what is left after the timeout. Does nothing unless it runs. */
  async stop(signal: NodeJS.Signals | number, timeoutMs: number): Promise<void> {
    await this.#settleStart();
    if (this.state !== ContainerState.CONTAINER_RUNNING || this.#start === undefined) return;
    if (timeoutMs > 0) {
      sendGroupSignal(this.#start.main, signal);
      if (await this.#waitForExit(timeoutMs)) {
        await this.#host.processes.killContainer(this.id, this.#start.main);
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
    if (this.state !== ContainerState.CONTAINER_RUNNING) throw refused('container is not running');
    await this.#log?.reopen();
  }

  /** Looks at the facts: the safety net below inotify. Costs a few system calls for a running container. */
  async scan(): Promise<void> {
    if (this.#closed || this.#supervisor === undefined) return;
    this.#log?.poke();
    if (this.#exit === undefined) await this.#look();
    else if (this.#watch !== undefined) await this.#drainLog();
  }

  /** Lets go of it without changing anything about it. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watch?.close();
    await this.#looking;
    await this.#log?.close();
  }

  // -- starting

  async #failStart(message: string): Promise<never> {
    await this.files.writeExit({ code: START_FAILED_CODE, reason: 'StartError', message });
    this.#exit = await this.files.findExit();
    this.#announceExit();
    throw refused(`failed to start container "${this.id}": ${message}`);
  }

  async #waitForStart(supervisor: Supervisor): Promise<void> {
    const { clock } = this.#host;
    const deadline = clock.monotonicMs() + START_MS;
    while (this.#start === undefined && this.#exit === undefined && clock.monotonicMs() < deadline) {
      await this.#look();
      if (this.#start === undefined) await Promise.race([clock.sleep(2), supervisor.waitForEnd(2)]);
    }
    if (this.#start === undefined) {
      throw refused(`failed to start container "${this.id}": ${this.#exit?.message ?? 'nothing happened'}`);
    }
  }

  /** Finds the supervisor of the container's run. Makes sure that no start of an earlier runtime comes late. */
  async #findRun() {
    for (let patience = 200; ;) {
      const found = await this.files.findSupervisor(this.#run);
      if (found === 'void') this.#run++;
      else if (found !== undefined) return found;
      else if (await this.files.voidRun(this.#run)) this.#run++;
      // Somebody has just created the file and not yet filled it. If he died over it, nothing was started.
      else if (patience-- > 0) await this.#host.clock.sleep(5);
      else this.#run++;
    }
  }

  #startWatch(): void {
    this.#watch ??= new ContainerWatch({
      dir: this.files.dir,
      clock: this.#host.clock,
      onChange: (name) => {
        if (name?.endsWith('.spool') !== false) this.#log?.poke();
        if (name === 'pid' || name === 'exit' || name === undefined) void this.#look();
      },
    });
  }

  // -- ending

  /** Reads the facts. Calls that come while it reads make it read once more. */
  #look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#lookRepeatedly().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookRepeatedly(): Promise<void> {
    while (this.#lookAgain && !this.#closed) {
      this.#lookAgain = false;
      await this.#lookOnce().catch((error: unknown) => {
        this.#host.logger.error('Container not readable', error, { containerId: this.id });
      });
    }
  }

  async #lookOnce(): Promise<void> {
    // Asked before the files are read: a supervisor that was gone by then has written all that it ever will.
    const gone = this.#supervisor?.hasEnded() ?? true;
    if (this.#start === undefined) {
      this.#start = await this.files.findStart();
      if (this.#start !== undefined && this.#exit === undefined) this.#host.onStarted(this);
    }
    if (this.#exit !== undefined) {
      if (gone) await this.#drainLog();
      return;
    }
    let exit = await this.files.findExit();
    if (exit === undefined && gone) exit = await this.#recordLoss();
    if (exit === undefined) return;
    // The last output comes first, so that whoever hears of the end can read the whole log.
    await this.#drainLog();
    this.#exit = exit;
    this.#announceExit();
    await this.files.syncExit();
  }

  /** The supervisor is gone and has left no exit record: it was killed, or the machine went down. */
  async #recordLoss(): Promise<ContainerExit | undefined> {
    const main = this.#start?.main;
    if (main === undefined) {
      const message = 'its supervisor could not start: is the disk full?';
      await this.files.writeExit({ code: START_FAILED_CODE, reason: 'StartError', message });
    } else {
      const supervised = this.#supervisor !== undefined;
      if (supervised) await this.#host.processes.killContainer(this.id, main);
      const message = supervised ? 'its supervisor was killed' : 'the machine was restarted';
      await this.files.writeExit({ code: 255, reason: 'Unknown', message });
    }
    return this.files.findExit();
  }

  #announceExit(): void {
    this.#ended.resolve(undefined);
    if (this.#start !== undefined) this.#host.processes.sweepSoon(this.id, this.#start.main);
    this.#host.onStopped(this);
  }

  async #kill(): Promise<void> {
    const { processes } = this.#host;
    const main = this.#start?.main;
    if (main === undefined) return;
    const running = this.state === ContainerState.CONTAINER_RUNNING;
    if (!running && !processes.awaitsSweep(this.id)) return;
    if (running) sendGroupSignal(main, 'SIGKILL');
    await processes.killContainer(this.id, main);
    if (running && !(await this.#waitForExit(KILL_MS))) {
      const message = `container "${this.id}" is still there ${KILL_MS / 1000} s after SIGKILL: pid ${main.pid}`;
      throw new RpcError(status.DEADLINE_EXCEEDED, message);
    }
  }

  async #openLog(): Promise<void> {
    if (this.record.logPath === '') return;
    const { logger, time } = this.#host;
    const log = new ContainerLog({ files: this.files, logPath: this.record.logPath, logger, time });
    await log.open();
    this.#log = log;
  }

  async #drainLog(): Promise<void> {
    const ended = (await this.#supervisor?.waitForEnd(LAST_OUTPUT_MS)) ?? true;
    await this.#log?.drain(ended);
    if (!ended) return;
    this.#watch?.close();
    this.#watch = undefined;
  }

  async #settleStart(): Promise<void> {
    await this.#mutex.run(() => Promise.resolve());
  }

  async #waitForExit(timeoutMs: number): Promise<boolean> {
    const timeout = defer<undefined>();
    const timer = this.#host.clock.setTimer(timeoutMs, () => timeout.resolve(undefined));
    await Promise.race([this.#ended.promise, timeout.promise]);
    timer.cancel();
    return this.#exit !== undefined;
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
