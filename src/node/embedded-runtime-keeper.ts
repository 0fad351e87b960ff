import { type Clock } from '#base/time/clock.js';
import { Backoff } from '#base/async/backoff.js';
import { type Logger } from '#base/log/logger.js';
import { answersAt } from '#base/wire/private-socket.js';
import { type RuntimeProcess } from './runtime-process.js';

/** What {@link EmbeddedRuntimeKeeper} needs. */
export interface EmbeddedRuntimeKeeperOptions {
  readonly process: Pick<RuntimeProcess, 'endpoint' | 'isRunning' | 'start' | 'boundLog'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 500;
/** How often the size of the log is checked. */
const LOG_LOOK_MS = 60_000;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;

/**
 * Keeps an embedded runtime running as long as the agent runs, and never ends one.
 *
 * It uses a runtime that an earlier agent has left, and restarts one that ends; the new one finds its pods as
 * they are. It also keeps the log short, whoever started the runtime.
 */
export class EmbeddedRuntimeKeeper {
  readonly endpoint: string;
  readonly #options: EmbeddedRuntimeKeeperOptions;

  constructor(options: EmbeddedRuntimeKeeperOptions) {
    this.#options = options;
    this.endpoint = options.process.endpoint;
  }

  /** Resolves once a runtime answers. Rejects with its last log lines when it does not start. */
  async start(signal: AbortSignal): Promise<'found' | 'started'> {
    if (await this.#answers()) return 'found';
    await this.#options.process.start(signal);
    return 'started';
  }

  /** Restarts it whenever it is gone, until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, process } = this.#options;
    const backoff = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS });
    let waitMs = LOOK_MS;
    let logLookMs = clock.monotonicMs();
    for (;;) {
      await clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      waitMs = LOOK_MS;
      if (clock.monotonicMs() >= logLookMs) {
        await process.boundLog();
        logLookMs = clock.monotonicMs() + LOG_LOOK_MS;
      }
      // While our process runs, nobody else can listen there, and a busy one is left alone.
      if (process.isRunning || (await this.#answers())) continue;
      logger.error('Embedded runtime is gone, starting it again', undefined, { endpoint: this.endpoint });
      try {
        await process.start(signal);
        logger.info('Embedded runtime is back', { endpoint: this.endpoint });
        backoff.reset();
      } catch (error) {
        if (error === signal.reason) return;
        logger.error('Embedded runtime does not start', error);
        waitMs = backoff.nextMs();
      }
    }
  }

  #answers(): Promise<boolean> {
    return answersAt(this.endpoint.slice('unix://'.length));
  }
}
