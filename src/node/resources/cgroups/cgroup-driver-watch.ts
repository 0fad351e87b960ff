import { findDriverInError, type ReportedCgroupDriver } from '../../runtime/cgroup-driver.js';
import { type CgroupDriver } from '../../runtime/config/pod-cgroup-names.js';
import { type Clock } from '#base/time/clock.js';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type CgroupDriverRecord } from './cgroup-driver-record.js';

/** What {@link CgroupDriverWatch} needs. */
export interface CgroupDriverWatchOptions {
  /** The configured driver; empty for none. */
  readonly configured: CgroupDriver | '';
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  /** Asks the runtime; undefined where it does not report its driver. */
  readonly ask: (signal: AbortSignal) => Promise<ReportedCgroupDriver | undefined>;
  readonly record: Pick<CgroupDriverRecord, 'find' | 'put'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Where the known cgroup driver comes from, by precedence. */
export type CgroupDriverSource =
  'options' | ReportedCgroupDriver['source'] | 'sandbox error' | 'earlier run' | 'default';

/**
 * Interval for noticing a runtime that was restarted with another configuration between two polls of its
 * status.
 */
const AGAIN_MS = 60_000;
/** The kubelet's default. */
const DEFAULT_DRIVER = 'cgroupfs';

const EVIDENCE: Readonly<Record<ReportedCgroupDriver['source'] | 'sandbox error', string>> = {
  RuntimeConfig: 'as its answer to RuntimeConfig says',
  Status: 'as the configuration in its verbose Status says',
  'sandbox error': 'as the error says with which it refused a sandbox',
};

/**
 * The present cgroup driver: the configured one, otherwise the one that the runtime reports.
 *
 * If the runtime does not report it, it is the one that the runtime's answer to a sandbox showed in this run
 * or an earlier one, otherwise cgroupfs.
 *
 * The runtime is asked together with its status: before the first pod is synced, after each time that it was
 * away, and otherwise once a minute. While it cannot be asked, the last known driver stays. A configured
 * driver that differs from the runtime's is a conflict: no sandbox could start. The embedded runtime always
 * has cgroupfs, whatever is configured, as the options may be those of a kubelet.
 */
export class CgroupDriverWatch {
  readonly #options: CgroupDriverWatchOptions;
  #reported: ReportedCgroupDriver | undefined;
  /** From the error of a sandbox, in this run. */
  #shown: CgroupDriver | undefined;
  #askedAtMs: number | undefined;
  #problem = '';
  #logged = '';

  constructor(options: CgroupDriverWatchOptions) {
    this.#options = options;
  }

  /** The present driver. */
  get driver(): CgroupDriver {
    return this.#current.driver;
  }

  /** Where it comes from. */
  get source(): CgroupDriverSource {
    return this.#current.source;
  }

  /** Why no sandbox can start, and what to change; undefined while configuration and runtime agree. */
  get conflict(): string | undefined {
    const { configured, runtimeName } = this.#options;
    const actual = this.#reported?.driver ?? this.#shown;
    if (configured === '' || this.#isEmbedded || actual === undefined || actual === configured)
      return undefined;
    const evidence = EVIDENCE[this.#reported?.source ?? 'sandbox error'];
    const options = `--cgroup-driver, or cgroupDriver of the KubeletConfiguration, is ${configured}`;
    return (
      `${options}, but the runtime ${runtimeName} has ${actual}, ${evidence}: no pod can start. ` +
      `Leave the option out, so that the runtime’s is taken, or ${toChange(runtimeName, configured)}`
    );
  }

  /** Throws CGROUP_DRIVER_CONFLICT while there is a {@link conflict}. */
  throwIfInConflict(): void {
    const { conflict } = this;
    if (conflict !== undefined) throw new PodloopError('CGROUP_DRIVER_CONFLICT', conflict);
  }

  /** Asks for the driver after each successful call of the given function. */
  after<Answer>(
    askStatus: (signal: AbortSignal) => Promise<Answer>,
  ): (signal: AbortSignal) => Promise<Answer> {
    return async (signal) => {
      try {
        const answer = await askStatus(signal);
        await this.refresh(signal);
        return answer;
      } catch (error) {
        this.#askedAtMs = undefined;
        throw error;
      }
    };
  }

  /** Asks the runtime, unless that was done lately. Rejects only with the signal's reason. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { ask, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#askedAtMs !== undefined && nowMs - this.#askedAtMs < AGAIN_MS) return;
    try {
      const reported = await ask(signal);
      this.#askedAtMs = nowMs;
      this.#problem = '';
      this.#reported = reported;
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
      return;
    }
    await this.#settle();
  }

  /**
   * Evaluates the runtime's refusal of a sandbox of its default handler. Does not reject.
   *
   * True when that changes the driver, so that the sandbox is worth another attempt.
   */
  async learn(error: unknown): Promise<boolean> {
    const before = this.driver;
    const actual = findDriverInError(messageOf(error));
    // A reported driver is more reliable than the text of an error.
    if (actual === undefined || this.#reported !== undefined || actual === before) return false;
    this.#shown = actual;
    if (this.conflict === undefined) {
      this.#options.logger.warn('The runtime refuses cgroups of this driver; the other one is taken', {
        ...{ refused: before, cgroupDriver: actual, err: messageOf(error) },
      });
    }
    await this.#settle();
    return this.driver !== before;
  }

  get #isEmbedded(): boolean {
    return this.#options.runtimeName === EMBEDDED_RUNTIME_NAME;
  }

  get #current(): { readonly driver: CgroupDriver; readonly source: CgroupDriverSource } {
    const { configured, record, runtimeName } = this.#options;
    if (configured !== '' && !this.#isEmbedded) return { driver: configured, source: 'options' };
    if (this.#reported !== undefined) return this.#reported;
    if (this.#shown !== undefined) return { driver: this.#shown, source: 'sandbox error' };
    const earlier = record.find(runtimeName);
    if (earlier !== undefined) return { driver: earlier, source: 'earlier run' };
    return { driver: DEFAULT_DRIVER, source: 'default' };
  }

  /** Logs the present driver and stores the runtime's, each once. */
  async #settle(): Promise<void> {
    const { configured, logger, record, runtimeName } = this.#options;
    const { driver, source } = this.#current;
    const { conflict } = this;
    const actual = this.#reported?.driver ?? this.#shown;
    const state = [driver, source, conflict].join(' ');
    if (state !== this.#logged) {
      this.#logged = state;
      logger.info('Cgroup driver', { cgroupDriver: driver, source });
      if (conflict !== undefined)
        logger.error('Cgroup drivers of options and runtime differ', undefined, { conflict });
      if (this.#isEmbedded && configured !== '' && configured !== driver) {
        logger.warn('The embedded runtime has its own cgroup driver, whatever the options say', {
          ...{ cgroupDriver: driver, configured },
        });
      }
    }
    if (actual !== undefined) await record.put(runtimeName, actual);
  }
}

/** How to switch a runtime to that driver. */
function toChange(runtimeName: string, driver: CgroupDriver): string {
  const name = runtimeName.toLowerCase();
  if (name.includes('containerd')) {
    const value = driver === 'systemd' ? 'true' : 'false';
    return `set SystemdCgroup = ${value} in the options of containerd’s default runtime (/etc/containerd/config.toml) and restart it`;
  }
  if (name.includes('cri-o')) {
    return `set cgroup_manager = "${driver}" in /etc/crio/crio.conf.d and restart CRI-O`;
  }
  return `configure the runtime for ${driver}`;
}
