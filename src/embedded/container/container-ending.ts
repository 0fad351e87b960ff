import { status } from '@grpc/grpc-js';
import { messageOf } from '../../util/errors.js';
import { type ContainerCgroup } from '../cgroups/container-cgroup.js';
import { type ContainerRecord } from './container-record.js';
import { type ContainerHost } from './container-host.js';
import { type ProcessIdentity } from '../process/process-identity.js';
import { sendGroupSignal, sendSignal } from '../process/process-table.js';
import { RpcError } from '../rpc-error.js';

/** What a {@link ContainerEnding} needs. */
export interface ContainerEndingOptions {
  readonly record: Pick<ContainerRecord, 'id' | 'sandboxId' | 'config'>;
  readonly host: Pick<ContainerHost, 'cgroups' | 'processes' | 'logger'> & {
    readonly isolation: Pick<ContainerHost['isolation'], 'kind' | 'endsWithMain'>;
  };
}

/** A container that has started, and how to learn of its end. */
export interface ContainerToKill {
  readonly main: ProcessIdentity;
  readonly running: boolean;
  /** False when it has not ended after that time. */
  readonly waitForExit: (timeoutMs: number) => Promise<boolean>;
}

/** A killed process that is not gone by then hangs in the kernel. */
const KILL_MS = 10_000;

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

  /**
   * With walls it is for the entrypoint to tell its own processes; without, they are one group. A signal that cannot be
   * sent is told in the log alone: it must not keep the end that comes after it from coming.
   */
  sendStop(main: ProcessIdentity, signal: NodeJS.Signals | number): void {
    const { record, host } = this.#options;
    try {
      if (host.isolation.kind === 'none') sendGroupSignal(main, signal);
      else sendSignal(main, signal);
    } catch (error) {
      host.logger.warn('Signal not sent', { containerId: record.id, signal, err: messageOf(error) });
    }
  }

  /**
   * Kills all of it at once and waits until it has ended. Does nothing where nothing can be left. Rejects with
   * DEADLINE_EXCEEDED when it is still there after ten seconds.
   */
  async kill({ main, running, waitForExit }: ContainerToKill): Promise<void> {
    const { record, host } = this.#options;
    if (!running && !host.processes.awaitsSweep(record.id)) return;
    if (running) this.sendStop(main, 'SIGKILL');
    await this.endAll(main);
    if (await waitForExit(KILL_MS)) return;
    const message = `container "${record.id}" is still there ${KILL_MS / 1000} s after SIGKILL: pid ${main.pid}`;
    throw new RpcError(status.DEADLINE_EXCEEDED, message);
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
