import { ContainerLog } from './output/container-log.js';
import { type ContainerExit, type ContainerFiles, type ContainerStart } from './container-files.js';
import { type ContainerHost } from './container-host.js';
import { type ContainerStreams, toStreamWords } from './output/container-streams.js';
import { ContainerWatch } from './container-watch.js';
import { type ExitRecords } from './exit-records.js';
import { adoptSupervisor, spawnSupervisor, type Supervisor } from './supervisor.js';
import { defer } from '../deferred.js';
import { findChild, type ProcessIdentity } from '../process/child-identity.js';
import { type Clock } from '#base/time/clock.js';
import { type ProcessClaim } from '../process/process-claim.js';

/** What a {@link ContainerRun} needs. */
export interface ContainerRunOptions {
  readonly id: string;
  readonly files: ContainerFiles;
  /** Absolute; empty when nobody wants the output. */
  readonly logPath: string;
  readonly streams: ContainerStreams;
  readonly host: ContainerHost;
  readonly exits: ExitRecords;
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
/**
 * From the start of a supervisor to that of its container; ample, for a machine under load, and for a container whose own CPU limit
 * slows its set-up, which counts against it. Less than what agents wait for the answer, two minutes.
 */
export const START_MS = 100_000;
const LOOK_AGAIN_MS = 20;
/** Nothing depends on a killed supervisor's being gone; it is only good manners not to remove its folder before. */
const DISMISS_MS = 1_000;

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
    const { run, supervisor } = await findSupervisor(files, host.clock);
    this.#number = run;
    this.#exit = await this.#options.exits.find();
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
    // Closed meanwhile: whoever takes the container up goes on with it.
    if (this.#closed) await log.close();
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
      streams: toStreamWords(this.#options.streams),
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
    this.#exit = await this.#options.exits.recordStartFailure(message);
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
    this.#looking ??= this.#lookRepeatedly();
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
    // Here and not when the promise settles: who asks in between would not be heard.
    this.#looking = undefined;
  }

  async #lookOnce(): Promise<void> {
    const { files, exits, onStarted } = this.#options;
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
    let exit = await exits.find();
    if (exit === undefined && gone)
      exit = await exits.recordLoss(this.#start?.main, this.#number, this.#supervisor !== undefined);
    if (exit === undefined) return;
    // The last output comes first, so that whoever hears of the end can read the whole log.
    await this.#drainLog();
    this.#exit = exit;
    this.#announceExit();
    await files.syncExit();
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

/** Who runs a container, and as which of its runs. */
interface FoundSupervisor {
  /** The number of the run: that of the supervisor, else the first that nobody can have had. */
  readonly run: number;
  readonly supervisor: ProcessClaim | undefined;
}

const MAX_FINDS = 200;
const FIND_AGAIN_MS = 5;

/** Finds the supervisor of a container. When there is none, makes sure that none of an earlier runtime comes late. */
async function findSupervisor(
  files: Pick<ContainerFiles, 'findSupervisor' | 'voidRun'>,
  clock: Clock,
): Promise<FoundSupervisor> {
  let run = 0;
  for (let patience = MAX_FINDS; ;) {
    const found = await files.findSupervisor(run);
    if (found === 'void') run++;
    else if (found !== undefined) return { run, supervisor: found };
    else if ((await files.voidRun(run)) || patience-- === 0) return { run: run + 1, supervisor: undefined };
    // The file has just been created and is not filled yet. If its writer dies before that, nothing was started.
    else await clock.sleep(FIND_AGAIN_MS);
  }
}
