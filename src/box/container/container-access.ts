import { messageOf } from '#base/errors/errors.js';
import { openConsole } from '../isolation/container-console.js';
import {
  type ContainerConsole,
  type ContainerProcess,
  type ProcessRequest,
} from '../isolation/container-process.js';
import { killDescendants } from '../isolation/kill-descendants.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { spawnProcess } from '../process/spawn-process.js';
import { refused } from '../rpc-error.js';
import { type ContainerFiles } from './container-files.js';
import { type ContainerHost } from './container-host.js';
import { ContainerOutput } from './output/container-output.js';
import { type ContainerCommand } from './supervisor-script.js';

/** What a {@link ContainerAccess} needs. */
export interface ContainerAccessOptions {
  readonly id: string;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly host: Pick<ContainerHost, 'isolation' | 'clock' | 'logger'>;
}

/** How people get into one container that runs: commands beside its entrypoint, and the entrypoint's own streams. */
export class ContainerAccess {
  readonly #options: ContainerAccessOptions;
  readonly #output: ContainerOutput;

  constructor(options: ContainerAccessOptions) {
    this.#options = options;
    this.#output = new ContainerOutput({ files: options.files });
  }

  /** Says that there may be new output. */
  poke(): void {
    this.#output.poke();
  }

  /**
   * Gives the disk of the spools back once nobody follows them: an ended container may stay for long, and its output
   * is in the log. Does not reject.
   */
  async dropSpools(): Promise<void> {
    const { id, host } = this.#options;
    try {
      await this.#output.dropSpools();
    } catch (error) {
      host.logger.warn('Spools not removed', { containerId: id, err: messageOf(error) });
    }
  }

  /** @param main the entrypoint; undefined unless it runs. */
  async openProcess(main: ProcessIdentity | undefined, request: ProcessRequest): Promise<ContainerProcess> {
    const { files, command, host } = this.#options;
    if (main === undefined) throw refused('container is not running');
    const { argv, tty } = request;
    const entry = { dir: files.dir, command, main, argv, tty };
    const fault = await host.isolation.findCommandFault(entry);
    if (fault !== undefined) {
      throw refused(`failed to exec in container: unable to start container process: ${fault}`);
    }
    const ways = { pipesFolder: files.dir, clock: host.clock, killRest: killDescendants };
    return spawnProcess({ ...request, ...host.isolation.enter(entry), ...ways });
  }

  /** @param run of a container that runs. */
  openConsole(run: {
    findScript(): number | undefined;
    readonly ended: Promise<unknown>;
  }): Promise<ContainerConsole> {
    const { files, stdin, tty, host } = this.#options;
    const findScript = () => run.findScript();
    const { clock } = host;
    return openConsole({ files, output: this.#output, stdin, tty, clock, findScript, ended: run.ended });
  }
}
