import { messageOf } from '../../util/errors.js';
import { type ContainerCgroup } from '../cgroups/container-cgroup.js';
import { type ContainerRecord } from './container-record.js';
import { type ContainerHost } from './container-run.js';
import { type ProcessIdentity } from '../process/process-identity.js';
import { sendGroupSignal, sendSignal } from '../process/process-table.js';

/** What a {@link ContainerEnding} needs. */
export interface ContainerEndingOptions {
  readonly record: ContainerRecord;
  readonly host: ContainerHost;
}

/**
 * How a container is told to end, and how all of it is killed: by its pid namespace where it has one of its own, else
 * by its cgroup, else by what /proc tells.
 */
export class ContainerEnding {
  readonly #options: ContainerEndingOptions;

  constructor(options: ContainerEndingOptions) {
    this.#options = options;
  }

  get #cgroup(): ContainerCgroup {
    const { record, host } = this.#options;
    return host.cgroups.findContainer(record.sandboxId, record.id);
  }

  /** With walls it is for the entrypoint to tell its own processes; without, they are one group. */
  sendStop(main: ProcessIdentity, signal: NodeJS.Signals | number): void {
    if (this.#options.host.isolation.kind === 'none') sendGroupSignal(main, signal);
    else sendSignal(main, signal);
  }

  /** Kills whatever is left of it. */
  async endAll(main: ProcessIdentity): Promise<void> {
    const { isolation, processes } = this.#options.host;
    if (isolation.endsWithMain(this.#options.record.config)) {
      sendSignal(main, 'SIGKILL');
      return;
    }
    const cgroup = this.#cgroup;
    if (cgroup.exists) await cgroup.kill();
    else await processes.killContainer(this.#options.record.id, main);
  }

  sweepSoon(main: ProcessIdentity): void {
    const { isolation, processes, logger } = this.#options.host;
    if (isolation.endsWithMain(this.#options.record.config)) return;
    const cgroup = this.#cgroup;
    if (!cgroup.exists) {
      processes.sweepSoon(this.#options.record.id, main);
      return;
    }
    void cgroup
      .kill()
      .catch((error: unknown) => logger.warn('Left processes not killed', { err: messageOf(error) }));
  }
}
