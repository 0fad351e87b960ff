import { type PlegHealth } from '#watch';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger } from '#base/log/logger.js';
import { type HealthChange, HealthChanges } from '../../telemetry/reports/health-changes.js';

/** Logs one line for each change between repeated health readings. */
export class HealthReport {
  readonly #logger: Logger;
  readonly #changes = new HealthChanges();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Logs the changes since the last call. Skips pods while the runtime is away, as all of them fail then. */
  update(health: PlegHealth, runtimeIsThere: boolean): void {
    for (const change of this.#changes.update(health, runtimeIsThere)) this.#log(change);
  }

  #log(change: HealthChange): void {
    const logger = this.#logger;
    switch (change.type) {
      case 'listHangs':
        logger.warn('The runtime does not answer the list of pods', { for: rounded(change.forMs) });
        break;
      case 'listAnswered':
        logger.info('The runtime answers the list of pods again');
        break;
      case 'unhealthy':
        logger.error('Runtime is unhealthy', `PLEG is not healthy: ${change.message}`, {
          reason: change.reason?.kind,
          lastError: change.reason?.error,
        });
        break;
      case 'healthy':
        logger.info('Runtime is healthy again');
        break;
      case 'podStuck': {
        const { pod, state, forMs, error } = change;
        const facts = { pod, podUID: pod.uid, state, for: rounded(forMs), lastError: error };
        logger.warn('Pod is stuck in the runtime, others are not delayed', facts);
        break;
      }
      case 'podFree': {
        const { uid, namespace, name } = change.pod;
        logger.info('Pod is no longer stuck', { pod: { uid, namespace, name }, podUID: uid });
      }
    }
  }
}

function rounded(durationMs: number): string {
  return formatGoDuration(Math.round(durationMs / 1000) * 1000);
}
