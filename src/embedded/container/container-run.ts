import { type Clock } from '../../util/clock.js';
import { type Logger } from '../../util/logger.js';
import { type Cgroups } from '../cgroups/cgroups.js';
import {
  OOM_KILLED,
  type ContainerExit,
  type ContainerFiles,
  type ContainerStart,
  type SupervisorRecord,
} from './container-files.js';
import { ContainerLog } from './container-log.js';
import { type ContainerStreams } from './container-streams.js';
import { ContainerWatch } from './container-watch.js';
import { defer } from '../deferred.js';
import { type ImageStore } from '../images/image-store.js';
import { type Isolation } from '../isolation/isolation.js';
import { type NanoClock } from '../nano-clock.js';
import { findChild, type ProcessIdentity } from '../process/process-identity.js';
import { type ProcessTable } from '../process/process-table.js';
import { adoptSupervisor, spawnSupervisor, type Supervisor } from './supervisor.js';

/** What all containers of a runtime share. */
export interface ContainerHost {
  readonly clock: Clock;
  readonly time: NanoClock;
  readonly logger: Logger;
  readonly processes: ProcessTable;
  readonly isolation: Isolation;
  readonly cgroups: Cgroups;
  readonly images: ImageStore;
  readonly bootId: string;
  /** Path of the supervisor's script, and the folders in which its programs are. */
  readonly script: string;
  readonly path: string;
}

/** What a {@link ContainerRun} needs. */
export interface ContainerRunOptions {
  readonly id: string;
  readonly files: ContainerFiles;
  /** Absolute; empty when nobody wants the output. */
  readonly logPath: string;
  readonly streams: ContainerStreams;
  readonly host: ContainerHost;
  /** Whether the kernel has killed something of it for want of memory. */
  readonly oomKilled: () => boolean;
  /** Ends whatever is left of it, the entrypoint included. */
  readonly endAll: (main: ProcessIdentity) => Promise<void>;
  /** Ends soon what is left of it beside the entrypoint, which has ended. */
  readonly sweepSoon: (main: ProcessIdentity) => void;
  /** Called when there may be new output. */
  readonly onOutput: () => void;
  /** Called when all of its output is in the log: the spools are of no use any more, but to those who follow them. */
  readonly onCarried: () => void;
  /** Called when it was seen to start and to end, after {@link ContainerRun.start} and `exit` say so. */
  readonly onStarted: () => void;
  readonly onStopped: () => void;
}

/** The supervisor's last deeds after the exit record: the output that is still in the pipes. */
const LAST_OUTPUT_MS = 250;
/** From the start of a supervisor to that of its container; ample, for a machine under load. */
const START_MS = 30_000;
const LOOK_AGAIN_MS = 20;
/** Nothing depends on a killed supervisor's being gone; it is only good manners not to remove its folder before. */
const DISMISS_MS = 1_000;

/** What a container that never ran is said to have exited with, as by other CRI runtimes. */
export const START_FAILED_CODE = 128;
/** The same for one of which nobody knows how it ended. */
export const UNKNOWN_CODE = 255;

/**
 * The run of one container as seen from here: starts its supervisor, and learns from the supervisor's files that
 * the container started and how it ended.
 *
 * Files are read at a hint of inotify, at the end of the supervisor, and at {@link scan}, which covers what both
 * may miss. A look is single-flight: a hint that comes during one makes it look once more.
 */
export class ContainerRun {
  readonly #options: ContainerRunOptions;
  readonly #begun = defer<undefined>();
  readonly #ended = defer<undefined>();
  #start: ContainerStart | undefined;
  #exit: ContainerExit | undefined;
  #number = 0;
  #supervisor: Supervisor | undefined;
  #watch: ContainerWatch | undefined;
  #log: ContainerLog | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #closed = false;

  constructor(options: ContainerRunOptions) {
    this.#options = options;
  }

  /** Undefined when it never started. */
  get start(): ContainerStart | undefined {
    return this.#start;
  }

  /** Undefined as long as it has not ended. */
  get exit(): ContainerExit | undefined {
    return this.#exit;
  }

  /** Resolves once it has ended and its last output is in the spools. */
  get ended(): Promise<unknown> {
    return this.#ended.promise;
  }

  /** The process that makes the container's terminal; undefined as soon as it may be gone. */
  findScript(): number | undefined {
    const supervisor = this.#supervisor;
    if (supervisor === undefined || supervisor.hasEnded() || supervisor.pid === undefined) return undefined;
    return findChild(supervisor.pid, 'script');
  }

  /** Takes up what an earlier runtime has left. */
  async restore(): Promise<void> {
    const { files, host } = this.#options;
    const supervisor = await this.#findSupervisor();
    this.#exit = await this.#findExit();
    if (supervisor === undefined) return;
    this.#start = await files.findStart();
    if (supervisor.bootId === host.bootId)
      this.#supervisor = adoptSupervisor(supervisor.identity, host.clock);
    try {
      await this.openLog();
    } catch (error) {
      host.logger.error('Log not opened; output stays in the spool', error, {
        containerId: this.#options.id,
      });
    }
    if (this.#supervisor?.hasEnded() === false) this.#startWatch();
    if (this.exit === undefined) await this.#look();
    else await this.#drainLog();
  }

  /** Opens the log: whatever is wrong with its path shows before anything is started. */
  async openLog(): Promise<void> {
    const { files, host, streams } = this.#options;
    if (!streams.output || this.#log !== undefined) return;
    // Output for those who attach alone is carried nowhere, so that it does not pile up.
    const logPath = this.#options.logPath === '' ? '/dev/null' : this.#options.logPath;
    const log = new ContainerLog({ files, logPath, logger: host.logger, time: host.time });
    await log.open();
    this.#log = log;
  }

  /** Starts the supervisor and waits for the container's process; look at `start` and `exit` for what came of it. */
  async launch(): Promise<void> {
    const { files, host } = this.#options;
    const { clock, path, script } = host;
    this.#startWatch();
    const supervisor = spawnSupervisor({
      script,
      dir: files.dir,
      run: this.#number,
      streams: wordsFor(this.#options.streams),
      path,
      clock,
      onEnd: () => void this.#look(),
    });
    this.#supervisor = supervisor;
    const deadline = clock.monotonicMs() + START_MS;
    while (this.start === undefined && this.exit === undefined && clock.monotonicMs() < deadline) {
      await Promise.race([this.#begun.promise, supervisor.waitForEnd(LOOK_AGAIN_MS)]);
      await this.#look();
    }
  }

  /** Records that it will never start, which is an end. */
  async recordStartFailure(message: string): Promise<void> {
    const { files } = this.#options;
    await files.writeExit({ code: START_FAILED_CODE, reason: 'StartError', message });
    this.#exit = await files.findExit();
    this.#announceExit();
  }

  /** False when it has not ended after that time. */
  async waitForExit(timeoutMs: number): Promise<boolean> {
    const timeout = defer<undefined>();
    const timer = this.#options.host.clock.setTimer(timeoutMs, () => timeout.resolve(undefined));
    if (this.exit === undefined) await Promise.race([this.#ended.promise, timeout.promise]);
    timer.cancel();
    return this.exit !== undefined;
  }

  /** Goes on logging in a new file at the log's path. */
  async reopenLog(): Promise<void> {
    await this.#log?.reopen();
  }

  /** Looks at the facts although nothing was announced. Costs a few system calls for a running container. */
  async scan(): Promise<void> {
    if (this.#closed || this.#watch === undefined) return;
    this.#log?.poke();
    await this.#look();
  }

  /** Lets go of everything; the container goes on. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watch?.close();
    await this.#looking;
    await this.#log?.close();
  }

  /** Lets go of everything for good: what a supervisor may still hand on will be read by nobody. */
  async dismiss(): Promise<void> {
    await this.close();
    this.#supervisor?.kill();
    await this.#supervisor?.waitForEnd(DISMISS_MS);
  }

  /** Finds the supervisor of this run. When there is none, makes sure that none of an earlier runtime comes late. */
  async #findSupervisor(): Promise<SupervisorRecord | undefined> {
    const { files, host } = this.#options;
    for (let patience = 200; ;) {
      const found = await files.findSupervisor(this.#number);
      if (found === 'void') this.#number++;
      else if (found !== undefined) return found;
      else if ((await files.voidRun(this.#number)) || patience-- === 0) {
        this.#number++;
        return undefined;
      }
      // Somebody has just created the file and not yet filled it. If he dies over it, nothing was started.
      else await host.clock.sleep(5);
    }
  }

  #startWatch(): void {
    this.#watch ??= new ContainerWatch({
      dir: this.#options.files.dir,
      clock: this.#options.host.clock,
      onChange: (name) => {
        if (name?.includes('.spool.') !== false) {
          this.#log?.poke();
          this.#options.onOutput();
        }
        if (name === 'pid' || name === 'exit' || name === undefined) void this.#look();
      },
    });
  }

  /** Reads the facts. */
  #look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#lookRepeatedly().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookRepeatedly(): Promise<void> {
    const { host, id } = this.#options;
    while (this.#lookAgain && !this.#closed) {
      this.#lookAgain = false;
      try {
        await this.#lookOnce();
      } catch (error) {
        host.logger.error('Container not readable', error, { containerId: id });
      }
    }
  }

  async #lookOnce(): Promise<void> {
    const { files, onStarted } = this.#options;
    // Asked before the files are read: a supervisor that was gone by then has written all that it ever will.
    const gone = this.#supervisor?.hasEnded() ?? true;
    if (this.#start === undefined) {
      this.#start = await files.findStart();
      if (this.#start !== undefined) {
        this.#begun.resolve(undefined);
        onStarted();
      }
    }
    if (this.#exit !== undefined) {
      if (gone) await this.#drainLog();
      return;
    }
    let exit = await this.#findExit();
    if (exit === undefined && gone) exit = await this.#recordLoss();
    if (exit === undefined) return;
    // The last output comes first, so that whoever hears of the end can read the whole log.
    await this.#drainLog();
    this.#exit = exit;
    this.#announceExit();
    await files.syncExit();
  }

  async #findExit(): Promise<ContainerExit | undefined> {
    const { files, oomKilled } = this.#options;
    const exit = await files.findExit();
    if (exit?.reason !== 'Error' || !oomKilled()) return exit;
    await files.markOomKilled();
    return { ...exit, reason: OOM_KILLED };
  }

  /** The supervisor is gone and has left no exit record: it was killed, or the machine went down. */
  async #recordLoss(): Promise<ContainerExit | undefined> {
    const { files, endAll, host, id } = this.#options;
    const main = this.#start?.main;
    if (main === undefined) {
      // It may have been killed while it was setting the container up: what it began is still in its session.
      const supervisor = await files.findSupervisor(this.#number);
      if (supervisor !== undefined && supervisor !== 'void' && supervisor.bootId === host.bootId) {
        await host.processes.killContainer(id, supervisor.identity);
      }
      const message = 'its supervisor could not start: is the disk full?';
      await files.writeExit({ code: START_FAILED_CODE, reason: 'StartError', message });
    } else {
      const sameBoot = this.#supervisor !== undefined;
      if (sameBoot) await endAll(main);
      const message = sameBoot ? 'its supervisor was killed' : 'the machine was restarted';
      await files.writeExit({ code: UNKNOWN_CODE, reason: 'Unknown', message });
    }
    return files.findExit();
  }

  #announceExit(): void {
    const { sweepSoon, onStopped } = this.#options;
    this.#ended.resolve(undefined);
    if (this.#start !== undefined) sweepSoon(this.#start.main);
    onStopped();
  }

  /** Carries the last output. What still holds a pipe open goes on being logged, until its end is seen. */
  async #drainLog(): Promise<void> {
    const ended = (await this.#supervisor?.waitForEnd(LAST_OUTPUT_MS)) ?? true;
    const whole = await this.#log?.drain(ended);
    // What could not be written is tried again at the next scan.
    if (!ended || whole === false) return;
    this.#watch?.close();
    this.#watch = undefined;
    if (whole === true && !this.#closed) this.#options.onCarried();
  }
}

/** As the supervisor's script understands them. */
function wordsFor({ output, input, tty }: ContainerStreams): string {
  const inputWord = { open: 'stdin', once: 'once', none: '' }[input];
  return [output ? 'log' : '', inputWord, tty ? 'tty' : ''].filter((word) => word !== '').join(' ');
}
