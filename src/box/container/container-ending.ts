import { status } from '@grpc/grpc-js';
import { messageOf } from '#base/errors/errors.js';
import { type ContainerCgroup } from '../cgroups/container-cgroup.js';
import { type ContainerRecord } from './container-record.js';
import { type ContainerHost } from './container-host.js';
import { bootTicksAgo } from '../process/boot-ticks.js';
import { isAlive, type ProcessIdentity } from '../process/child-identity.js';
import { sendGroupSignal, sendSignal, type SessionLeader } from '../process/process-table.js';
import { RpcError } from '../rpc-error.js';

/** What a {@link ContainerEnding} needs. */
export interface ContainerEndingOptions {
  readonly record: Pick<ContainerRecord, 'id' | 'sandboxId' | 'config'>;
  /** When it ended, in nanoseconds since the epoch; undefined as long as nobody knows. */
  readonly findFinishedAtNs: () => bigint | undefined;
  readonly host: Pick<ContainerHost, 'clock' | 'cgroups' | 'processes' | 'logger'> & {
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
 * Stops a container, and kills all of it: by its pid namespace where it has one of its own, else
 * by its cgroup, else by what /proc shows.
 */
export class ContainerEnding {
  readonly #options: ContainerEndingOptions;

  constructor(options: ContainerEndingOptions) {
    this.#options = options;
  }

  /** The entrypoint, with what is known of how long it had its number. */
  #leader(main: ProcessIdentity): SessionLeader {
    if (isAlive(main)) return { ...main, heldUntilTicks: bootTicksAgo(0) };
    const { findFinishedAtNs, host } = this.#options;
    const finishedAtNs = findFinishedAtNs();
    if (finishedAtNs === undefined) return main;
    return { ...main, heldUntilTicks: bootTicksAgo(host.clock.now() - Number(finishedAtNs / 1_000_000n)) };
  }

  get #cgroup(): ContainerCgroup {
    const { record, host } = this.#options;
    return host.cgroups.findContainer(record.sandboxId, record.id);
  }

  /**
   * With walls it is for the entrypoint to tell its own processes; without, they are one group. A signal that cannot be
   * sent is only logged: it must not prevent the kill that follows.
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
    const leader = this.#leader(main);
    if (running) this.sendStop(main, 'SIGKILL');
    await this.#endAll(leader);
    if (await waitForExit(KILL_MS)) return;
    const message = `container "${record.id}" is still there ${KILL_MS / 1000} s after SIGKILL: pid ${main.pid}`;
    throw new RpcError(status.DEADLINE_EXCEEDED, message);
  }

  /** Kills whatever is left of it. */
  endAll(main: ProcessIdentity): Promise<void> {
    return this.#endAll(this.#leader(main));
  }

  async #endAll(leader: SessionLeader): Promise<void> {
    const { isolation, processes } = this.#options.host;
    if (isolation.endsWithMain(this.#options.record.config)) {
      sendSignal(leader, 'SIGKILL');
      return;
    }
    const cgroup = this.#cgroup;
    if (cgroup.exists) await cgroup.kill();
    else await processes.killContainer(this.#options.record.id, leader);
  }

  sweepSoon(main: ProcessIdentity): void {
    const { isolation, processes, logger } = this.#options.host;
    if (isolation.endsWithMain(this.#options.record.config)) return;
    const cgroup = this.#cgroup;
    if (!cgroup.exists) {
      processes.sweepSoon(this.#options.record.id, this.#leader(main));
      return;
    }
    void cgroup
      .kill()
      .catch((error: unknown) => logger.warn('Left processes not killed', { err: messageOf(error) }));
  }
}
