import { type ToldCgroupDriver } from '../../runtime/cgroup-driver.js';
import { type CgroupDriver } from '../../runtime/pod-cgroup-names.js';
import { type Clock } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { type Logger } from '../../util/logger.js';

/** What {@link CgroupDriverWatch} needs. */
export interface CgroupDriverWatchOptions {
  /** As written in the options; empty when nobody has. */
  readonly configured: CgroupDriver | '';
  /** Asks the runtime. */
  readonly ask: (signal: AbortSignal) => Promise<ToldCgroupDriver>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A runtime that was restarted between two questions for its status, with another configuration, is found out after. */
const AGAIN_MS = 60_000;
/** What a kubelet takes when nobody says anything. */
const DEFAULT_DRIVER = 'cgroupfs';

/**
 * The cgroup driver that holds: the runtime's word, else what the options say, else cgroupfs.
 *
 * It is asked with the runtime's status: before the first pod is synced, after each time that the runtime was away, and
 * else once a minute. While it cannot be asked, what was known holds.
 */
export class CgroupDriverWatch {
  readonly #options: CgroupDriverWatchOptions;
  #told: ToldCgroupDriver | undefined;
  #askedAtMs: number | undefined;
  #problem = '';

  constructor(options: CgroupDriverWatchOptions) {
    this.#options = options;
  }

  /** As of now. */
  get driver(): CgroupDriver {
    const { configured } = this.#options;
    if (this.#told === 'cgroupfs' || this.#told === 'systemd') return this.#told;
    return configured === '' ? DEFAULT_DRIVER : configured;
  }

  /** Goes on to ask for the driver whenever the runtime has answered what it is asked for. */
  after<Answer>(
    askStatus: (signal: AbortSignal) => Promise<Answer>,
  ): (signal: AbortSignal) => Promise<Answer> {
    return async (signal) => {
      try {
        const answer = await askStatus(signal);
        await this.#refresh(signal);
        return answer;
      } catch (error) {
        this.#askedAtMs = undefined;
        throw error;
      }
    };
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { ask, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#askedAtMs !== undefined && nowMs - this.#askedAtMs < AGAIN_MS) return;
    try {
      const told = await ask(signal);
      this.#askedAtMs = nowMs;
      this.#problem = '';
      if (told !== this.#told) this.#take(told);
    } catch (error) {
      signal.throwIfAborted();
      // Asked again with the next status.
      this.#askedAtMs = undefined;
      const problem = messageOf(error);
      if (problem === this.#problem) return;
      this.#problem = problem;
      logger.error('The runtime does not say which cgroup driver it has', error, {
        cgroupDriver: this.driver,
      });
    }
  }

  #take(told: ToldCgroupDriver): void {
    const { configured, logger } = this.#options;
    this.#told = told;
    const cgroupDriver = this.driver;
    const source = told !== 'not told' ? 'runtime' : configured !== '' ? 'options' : 'default';
    logger.info('Cgroup driver', { cgroupDriver, source }, 2);
    if (source === 'runtime' && configured !== '' && configured !== told) {
      logger.warn('The runtime has another cgroup driver than the options say; the runtime’s is taken', {
        cgroupDriver,
        configured,
      });
    }
  }
}
