import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock } from '../time/clock.js';
import { type Logger } from '../log/logger.js';

const run = promisify(execFile);

/** What systemd passes to a service. */
export interface SystemdService {
  /** The socket that takes notifications: a path, or `@` and an abstract name. */
  readonly notifySocket: string;
  /**
   * The watchdog time in milliseconds, within which systemd expects a sign of life; undefined if it expects
   * none.
   */
  readonly watchdogMs: number | undefined;
}

/**
 * The settings of this process as a systemd service that must report its state; undefined if it is not one.
 * Pure.
 *
 * Source: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html and sd_watchdog_enabled.html
 */
export function findSystemdService(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): SystemdService | undefined {
  const notifySocket = env['NOTIFY_SOCKET'] ?? '';
  if (notifySocket === '') return undefined;
  const watchdogUsec = Number(env['WATCHDOG_USEC'] ?? '');
  const isOurs = (env['WATCHDOG_PID'] ?? String(pid)) === String(pid);
  const watchdogMs = isOurs && watchdogUsec > 0 ? watchdogUsec / 1_000 : undefined;
  return { notifySocket, watchdogMs };
}

/** Options of {@link SystemdNotifier}. */
export interface SystemdNotifierOptions {
  readonly service: SystemdService;
  /** The folders with the program systemd-notify, in the form of PATH. */
  readonly path: string;
  /** The program (default: `systemd-notify`). */
  readonly program?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const NOTIFY_TIMEOUT_MS = 10_000;

/**
 * Reports the state of this service to systemd.
 *
 * It runs the program systemd-notify, as Node does not support the datagram socket. As root that program
 * reports for its parent process; otherwise the unit needs NotifyAccess=all. A failed notification is logged
 * and has no other effect.
 */
export class SystemdNotifier {
  readonly #options: SystemdNotifierOptions;

  constructor(options: SystemdNotifierOptions) {
    this.#options = options;
  }

  /**
   * The watchdog time in milliseconds, within which systemd expects a sign of life; undefined if it expects
   * none.
   */
  get watchdogMs(): number | undefined {
    return this.#options.service.watchdogMs;
  }

  /** Reports that the service is ready. Never rejects. */
  async ready(status: string): Promise<void> {
    await this.#notify('READY=1', `STATUS=${status}`);
  }

  /** Reports that the service is stopping. Never rejects. */
  async stopping(): Promise<void> {
    await this.#notify('STOPPING=1', 'STATUS=Ending');
  }

  /**
   * Sends a sign of life twice per watchdog time while the service is alive, until the signal aborts.
   *
   * Resolves then; resolves at once if systemd expects none.
   */
  async watch(isAlive: () => boolean, signal: AbortSignal): Promise<void> {
    const { service, clock, logger } = this.#options;
    if (service.watchdogMs === undefined) return;
    while (!signal.aborted) {
      if (isAlive()) await this.#notify('WATCHDOG=1');
      else logger.error('The sync loop does not turn: systemd gets no sign of life');
      await clock.sleep(service.watchdogMs / 2, signal).catch(() => undefined);
    }
  }

  async #notify(...states: readonly string[]): Promise<void> {
    const { service, path, program = 'systemd-notify', logger } = this.#options;
    try {
      await run(program, states, {
        env: { PATH: path, NOTIFY_SOCKET: service.notifySocket },
        timeout: NOTIFY_TIMEOUT_MS,
      });
    } catch (error) {
      logger.error('Cannot notify systemd', error, { states });
    }
  }
}

/** The notifier of a process that systemd has started as a service of `Type=notify`; undefined otherwise. */
export function findSystemdNotifier(
  { env, pid, clock }: { env: Readonly<Record<string, string | undefined>>; pid: number; clock: Clock },
  logger: Logger,
): SystemdNotifier | undefined {
  const service = findSystemdService(env, pid);
  if (service === undefined) return undefined;
  return new SystemdNotifier({ service, path: env['PATH'] ?? '/usr/bin:/bin', clock, logger });
}
