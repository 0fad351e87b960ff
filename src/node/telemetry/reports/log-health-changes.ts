import { type CriClient, type Pleg } from '#watch';
import { type RuntimeState } from '../../pods/loop/runtime-state.js';
import { untilNextBeatMs } from '#base/async/beat.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { HealthReport } from '../../api/agent/health-report.js';
import { SlowCallsReport } from './slow-calls-report.js';

/** What {@link logHealthChanges} needs. */
export interface LogHealthChangesOptions {
  readonly pleg: Pick<Pleg, 'health'>;
  readonly runtimeState: Pick<RuntimeState, 'isAnswered'>;
  readonly client: Pick<CriClient, 'callsInFlight'>;
  /** Timeout of a call of the runtime, in milliseconds. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often to check what hangs, in milliseconds. */
const LOOK_MS = 1_000;

/** Logs what hangs, while it hangs, until the signal aborts. */
export async function logHealthChanges(given: LogHealthChangesOptions, signal: AbortSignal): Promise<void> {
  const { pleg, runtimeState, client, requestTimeoutMs, clock, logger } = given;
  const health = new HealthReport(logger);
  const calls = new SlowCallsReport({
    ...{ clock, logger, requestTimeoutMs },
    callsInFlight: () => client.callsInFlight(),
  });
  while (!signal.aborted) {
    health.update(pleg.health(), runtimeState.isAnswered);
    calls.update();
    await clock.sleep(untilNextBeatMs(clock, LOOK_MS), signal).catch(() => undefined);
  }
}
