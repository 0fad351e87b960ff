import { ContainerState, type LinuxContainerResources } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { type ContainerCgroup } from '../cgroups/container-cgroup.js';
import { ContainerAccess } from './container-access.js';
import { type ContainerExit, type ContainerFiles } from './container-files.js';
import { type ContainerRecord } from './container-record.js';
import { ContainerEnding } from './container-ending.js';
import { type ContainerHost } from './container-host.js';
import { ContainerResources } from './container-resources.js';
import { ContainerRun, START_MS } from './container-run.js';
import { ExitRecords } from './exit-records.js';
import { streamsOf } from './output/container-streams.js';
import {
  type ContainerConsole,
  type ContainerProcess,
  type ProcessRequest,
  type StreamableContainer,
} from '../isolation/container-process.js';
import { Mutex } from '#base/async/mutex.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { prepareLaunch } from './prepare-launch.js';
import { notFound, refused } from '../rpc-error.js';
import { type Sandbox } from '../pods/sandbox.js';
import { toStopSignal } from './stop-signal.js';
import { type ContainerCommand } from './supervisor-script.js';

/** What a {@link Container} needs. */
export interface ContainerOptions {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly host: ContainerHost;
  /** Undefined when the sandbox's record was lost. */
  readonly findSandbox: () => Sandbox | undefined;
  /** The entrypoint of another container of the sandbox; undefined unless it runs. */
  readonly findMain: (containerId: string) => ProcessIdentity | undefined;
  /** Called when it was seen to start and to end, after its state says so. */
  readonly onStarted: (container: Container) => void;
  readonly onStopped: (container: Container) => void;
}

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
export class Container implements StreamableContainer {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly #options: ContainerOptions;
  readonly #host: ContainerHost;
  readonly #access: ContainerAccess;
  readonly #ending: ContainerEnding;
  readonly #run: ContainerRun;
  readonly #resources: ContainerResources;
  readonly #mutex = new Mutex();
  #retired = false;

  constructor(options: ContainerOptions) {
    const { record, files, host } = options;
    this.#options = options;
    this.record = record;
    this.files = files;
    this.command = options.command;
    this.#host = host;
    this.#access = new ContainerAccess({
      ...{ files, host, id: record.id, command: options.command },
      ...{ stdin: record.config.stdin, tty: record.config.tty },
    });
    this.#ending = new ContainerEnding({
      ...{ record, host },
      findFinishedAtNs: () => this.#run.exit?.finishedAtNs,
    });
    this.#resources = new ContainerResources({ files, created: record.config.linux?.resources });
    const exits = new ExitRecords({
      id: record.id,
      files,
      host,
      oomKilled: () => this.cgroup.oomKilled(),
      endAll: (main) => this.#ending.endAll(main),
    });
    this.#run = new ContainerRun({
      id: record.id,
      files,
      logPath: record.logPath,
      streams: streamsOf(record),
      host,
      exits,
      sweepSoon: (main) => this.#ending.sweepSoon(main),
      onOutput: () => this.#access.poke(),
      onCarried: () => void this.#access.dropSpools(),
      onStarted: () => options.onStarted(this),
      onStopped: () => {
        this.#access.poke();
        options.onStopped(this);
      },
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
    return this.main?.pid ?? 0;
  }

  /** The entrypoint while it runs. */
  get main(): ProcessIdentity | undefined {
    return this.running ? this.#run.start?.main : undefined;
  }

  /** Its cgroup, whether there is one or not. */
  get cgroup(): ContainerCgroup {
    return this.#host.cgroups.findContainer(this.record.sandboxId, this.id);
  }

  get tty(): boolean {
    return this.record.config.tty;
  }

  get stdin(): boolean {
    return this.record.config.stdin;
  }

  /** Which pipes it needs from its creation on. */
  get pipes(): { output: boolean; input: boolean; uid: number } {
    const { output, input } = streamsOf(this.record);
    return { output, input: input !== 'none', uid: this.record.user.uid };
  }

  /** What asks it to end: what the request says, else what the image says. */
  get stopSignal(): NodeJS.Signals | number {
    return toStopSignal(this.record.config.stopSignal, this.record.image.stopSignal);
  }

  /** The limits that hold now: those of its creation, or of UpdateContainerResources since. */
  get resources(): LinuxContainerResources | undefined {
    return this.#resources.current;
  }

  /** Finds out what became of a container that an earlier runtime has left. */
  async restore(): Promise<void> {
    await this.#resources.restore();
    await this.#run.restore();
    const main = this.#run.start?.main;
    if (!this.running && main !== undefined) this.#ending.sweepSoon(main);
  }

  /**
   * Starts it and resolves once its process exists. Rejects, and the container is exited, when it cannot be run.
   *
   * @param assertAllowed called at the last moment; what it throws leaves everything as it was.
   * @param signal ends the wait for an image whose files are not whole yet; that leaves everything as it was, too.
   */
  start(assertAllowed: () => void, signal: AbortSignal): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#retired) throw notFound('container', this.id);
      if (this.state !== ContainerState.CONTAINER_CREATED) {
        throw refused(
          `failed to start container "${this.id}": container is in ${STATE_WORDS[this.state]} state`,
        );
      }
      assertAllowed();
      const fault = await this.#prepare(signal);
      if (fault === undefined) await this.#run.launch();
      else await this.#run.recordStartFailure(fault);
      if (this.#run.start !== undefined) return;
      throw refused(
        `failed to start container "${this.id}": ${this.exit?.message ?? `its process did not start within ${START_MS / 1_000} s`}`,
      );
    });
  }

  /** Asks it to end, kills what is left after the timeout. Does nothing unless it runs. */
  async stop(signal: NodeJS.Signals | number, timeoutMs: number): Promise<void> {
    // A start that is under way comes first, else what it starts would go on.
    await this.#mutex.run(() => Promise.resolve());
    const main = this.#run.start?.main;
    if (!this.running || main === undefined) return;
    if (timeoutMs > 0) {
      this.#ending.sendStop(main, signal);
      if (await this.#run.waitForExit(timeoutMs)) {
        await this.#ending.endAll(main);
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

  /**
   * Changes its limits unless it has ended; see {@link ContainerResources.change}.
   */
  updateResources(
    change: LinuxContainerResources,
    apply: (resources: LinuxContainerResources) => Promise<void>,
  ): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#retired) throw notFound('container', this.id);
      if (this.#run.exit !== undefined) {
        throw refused(`failed to update container "${this.id}": it is in ${STATE_WORDS[this.state]} state`);
      }
      await this.#resources.change(change, apply);
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

  /** Lets go of it for good; it has ended, and will be removed. */
  dismiss(): Promise<void> {
    return this.#run.dismiss();
  }

  /** See {@link StreamableContainer}. */
  openProcess(request: ProcessRequest): Promise<ContainerProcess> {
    return this.#access.openProcess(this.main, request);
  }

  /** See {@link StreamableContainer}. */
  async openConsole(): Promise<ContainerConsole> {
    if (!this.running) throw refused('container is not running');
    return this.#access.openConsole(this.#run);
  }

  /** Why it cannot be started; undefined when it can. */
  async #prepare(signal: AbortSignal): Promise<string | undefined> {
    const { findSandbox, findMain } = this.#options;
    const { record, files, command, resources } = this;
    const sandbox = findSandbox();
    if (sandbox === undefined) return 'the record of its sandbox was lost';
    const launch = { record, files, command, resources, sandbox, findMain };
    const fault = await prepareLaunch(launch, this.#host, signal);
    if (fault !== undefined) return fault;
    try {
      await this.#run.openLog();
      return undefined;
    } catch (error) {
      return `failed to open its log: ${messageOf(error)}`;
    }
  }

  async #kill(): Promise<void> {
    const main = this.#run.start?.main;
    if (main === undefined) return;
    const { running } = this;
    await this.#ending.kill({ main, running, waitForExit: (timeoutMs) => this.#run.waitForExit(timeoutMs) });
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
