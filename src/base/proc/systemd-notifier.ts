import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock } from '../time/clock.js';
import { type Logger } from '../log/logger.js';

const run = promisify(execFile);

/** What systemd passes to a service that it starts. */
export interface SystemdService {
  /** The socket that takes notifications: a path, or `@` and an abstract name. */
  readonly notifySocket: string;
  /** Within which time it wants to hear that the service lives, milliseconds; undefined when it does not. */
  readonly watchdogMs: number | undefined;
}

/**
 * Whether this process is a service of systemd that must report its state; undefined when it is not. Pure.
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

/** What a {@link SystemdNotifier} needs. */
export interface SystemdNotifierOptions {
  readonly service: SystemdService;
  /** Where the program systemd-notify is looked for, as PATH. */
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
 * Through its program systemd-notify: the socket is a datagram socket, for which Node has nothing. As root that speaks
 * for the process that starts it; else the unit needs NotifyAccess=all. A failed notification is logged and does no
 * other harm.
 */
export class SystemdNotifier {
  readonly #options: SystemdNotifierOptions;

  constructor(options: SystemdNotifierOptions) {
    this.#options = options;
  }

  /** Within which time systemd wants to hear that the service lives, milliseconds; undefined when it does not. */
  get watchdogMs(): number | undefined {
    return this.#options.service.watchdogMs;
  }

  /** The service works from now on. Never rejects. */
  async ready(status: string): Promise<void> {
    await this.#tell('READY=1', `STATUS=${status}`);
  }

  /** The service is ending. Never rejects. */
  async stopping(): Promise<void> {
    await this.#tell('STOPPING=1', 'STATUS=Ending');
  }

  /**
   * Reports twice within the time that systemd allows that the service lives, for as long as it does, until the signal
   * aborts. Resolves then; at once when systemd does not ask.
   */
  async watch(isAlive: () => boolean, signal: AbortSignal): Promise<void> {
    const { service, clock, logger } = this.#options;
    if (service.watchdogMs === undefined) return;
    while (!signal.aborted) {
      if (isAlive()) await this.#tell('WATCHDOG=1');
      else logger.error('The sync loop does not turn: systemd gets no sign of life');
      await clock.sleep(service.watchdogMs / 2, signal).catch(() => undefined);
    }
  }

  async #tell(...states: readonly string[]): Promise<void> {
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

/** For a process that systemd has started as a service of `Type=notify`; undefined for every other. */
export function findSystemdNotifier(
  { env, pid, clock }: { env: Readonly<Record<string, string | undefined>>; pid: number; clock: Clock },
  logger: Logger,
): SystemdNotifier | undefined {
  const service = findSystemdService(env, pid);
  if (service === undefined) return undefined;
  return new SystemdNotifier({ service, path: env['PATH'] ?? '/usr/bin:/bin', clock, logger });
}
