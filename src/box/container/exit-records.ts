import { type ProcessIdentity } from '../process/child-identity.js';
import { START_ERROR, type ContainerExit, type ContainerFiles } from './container-files.js';
import { type ContainerHost } from './container-host.js';

/** What {@link ExitRecords} needs. */
export interface ExitRecordsOptions {
  readonly id: string;
  readonly files: ContainerFiles;
  readonly host: Pick<ContainerHost, 'bootId' | 'processes'>;
  /** Whether the kernel has killed something of it for want of memory. */
  readonly oomKilled: () => boolean;
  /** Ends whatever is left of it, the entrypoint included. */
  readonly endAll: (main: ProcessIdentity) => Promise<void>;
}

/** What a container that never ran is said to have exited with, as by other CRI runtimes. */
const START_FAILED_CODE = 128;
/**
 * A supervisor starts the set-up at once; ample, for a machine under load. Nobody else can have had its number, a session
 * of its own and an end in that time. In clock ticks: ten seconds.
 */
const SETUP_BEGIN_TICKS = 1_000;
/** The exit code of a container whose end is unknown. */
const UNKNOWN_CODE = 255;

/** How one container ended: as its supervisor has recorded it, or on record instead of a supervisor that could not. */
export class ExitRecords {
  readonly #options: ExitRecordsOptions;

  constructor(options: ExitRecordsOptions) {
    this.#options = options;
  }

  /** Undefined as long as nobody has recorded an end. */
  async find(): Promise<ContainerExit | undefined> {
    const { files, oomKilled } = this.#options;
    const exit = await files.findExit();
    const mayBe = exit?.reason === 'Error' || exit?.reason === START_ERROR;
    if (!mayBe || !oomKilled()) return exit;
    await files.markOomKilled();
    return files.findExit();
  }

  /** Records that it will never start. */
  async recordStartFailure(message: string): Promise<ContainerExit | undefined> {
    const { files } = this.#options;
    await files.writeExit({ code: START_FAILED_CODE, reason: START_ERROR, message });
    return files.findExit();
  }

  /**
   * Ends and records a container whose supervisor is gone and has left no record: it was killed, or the machine went
   * down.
   *
   * @param main the entrypoint; undefined when it never started.
   * @param run the number of the supervisor's run.
   * @param sameBoot whether the supervisor was one of this boot.
   */
  async recordLoss(
    main: ProcessIdentity | undefined,
    run: number,
    sameBoot: boolean,
  ): Promise<ContainerExit | undefined> {
    const { files, endAll, host, id } = this.#options;
    if (main === undefined) {
      // It may have been killed while it was setting the container up: what it began is still in its session.
      const supervisor = await files.findSupervisor(run);
      if (supervisor !== undefined && supervisor !== 'void' && supervisor.bootId === host.bootId) {
        const { identity } = supervisor;
        const heldUntilTicks = Number(identity.startTicks) + SETUP_BEGIN_TICKS;
        await host.processes.killContainer(id, { ...identity, heldUntilTicks });
      }
      return this.recordStartFailure('its supervisor could not start: is the disk full?');
    }
    if (sameBoot) await endAll(main);
    const message = sameBoot ? 'its supervisor was killed' : 'the machine was restarted';
    await files.writeExit({ code: UNKNOWN_CODE, reason: 'Unknown', message });
    return files.findExit();
  }
}
