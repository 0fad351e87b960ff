import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { type Killer, killGroup, type ProcessFinder, removeGroup } from './end-group.js';

/** What the removal of groups needs of its surroundings. */
export interface RemovalHost {
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly kill: Killer;
  readonly find: ProcessFinder;
}

/**
 * Ends groups. One that stays, for processes that hang in the kernel or for an error of the machine's, keeps nothing
 * else from going on: it is on record here, and {@link GroupRemovals.retry} tries it again.
 */
export class GroupRemovals {
  readonly #host: RemovalHost;
  readonly #left = new Set<string>();

  constructor(host: RemovalHost) {
    this.#host = host;
  }

  /** Kills everything in a group and removes it; false when it stays. Does not reject. */
  end(path: string): Promise<boolean> {
    const { layout } = this.#host;
    return this.#attempt(path, async () => {
      return (await killGroup(layout, path, this.#host)) && removeGroup(layout, path, this.#host);
    });
  }

  /**
   * Removes a group whose processes should have ended; false when it stays. Does not reject.
   *
   * @param patienceMs how long it waits for the last of them (default: ten seconds).
   */
  remove(path: string, patienceMs?: number): Promise<boolean> {
    const { layout, clock } = this.#host;
    return this.#attempt(path, () => removeGroup(layout, path, { clock, patienceMs }));
  }

  /** Looks once at each group that stayed; how many are gone now. Does not reject. */
  async retry(): Promise<number> {
    const { layout, logger, clock, kill, find } = this.#host;
    let gone = 0;
    for (const path of this.#left) {
      const once = { clock, kill, find, patienceMs: 0 };
      const work = async () => (await killGroup(layout, path, once)) && removeGroup(layout, path, once);
      if (!(await work().catch(() => false))) continue;
      this.#left.delete(path);
      gone++;
      logger.info('Cgroup removed after all', { cgroup: path });
    }
    return gone;
  }

  async #attempt(path: string, work: () => Promise<boolean>): Promise<boolean> {
    let why = 'processes stay in it';
    try {
      if (await work()) return true;
    } catch (error) {
      why = messageOf(error);
    }
    this.#left.add(path);
    this.#host.logger.warn('Cgroup not removed; it is tried again', { cgroup: path, why });
    return false;
  }
}
