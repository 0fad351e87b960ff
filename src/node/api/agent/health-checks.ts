import { type HealthCheck, type HealthChecks } from '../node/health.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type AgentParts } from '../../parts/agent-parts.js';

/** Sources of {@link buildHealthChecks}. */
export interface HealthChecksOptions {
  readonly options: Pick<AgentOptions, 'syncFrequencyMs'>;
  readonly parts: {
    readonly pleg: Pick<AgentParts['pleg'], 'health'>;
    readonly runtimeState: Pick<AgentParts['runtimeState'], 'runtimeErrors'>;
    readonly loop: Pick<AgentParts['loop'], 'state'>;
  };
  /** Why the log cannot be written; undefined when it can. */
  readonly findLogProblem: () => string | undefined;
}

/** The kubelet's limit: a loop that turned this recently is healthy, however often pods are synced. */
const LEAST_LOOP_LIMIT_MS = 5 * 60 * 1_000;

/** The agent's own health, as of each call. */
export function buildHealthChecks({ options, parts, findLogProblem }: HealthChecksOptions): HealthChecks {
  const { pleg, runtimeState, loop } = parts;
  const loopLimitMs = Math.max(2 * options.syncFrequencyMs, LEAST_LOOP_LIMIT_MS);
  /** An answer is all that it shows. */
  const ping: HealthCheck = { name: 'ping', findProblem: () => undefined };
  const log: HealthCheck = { name: 'log', findProblem: findLogProblem };
  const syncLoop: HealthCheck = {
    name: 'syncloop',
    findProblem: () => {
      const { lastActiveAgoMs = 0, errors } = loop.state();
      // While the runtime is not healthy the loop waits, as the checks of the runtime report; then the loop
      // does not hang.
      if (errors.length > 0 || lastActiveAgoMs <= loopLimitMs) return undefined;
      const ago = formatGoDuration(Math.round(lastActiveAgoMs));
      return `sync Loop took longer than expected: last seen active ${ago} ago; threshold is ${formatGoDuration(loopLimitMs)}`;
    },
  };
  const runtime: HealthCheck = {
    name: 'runtime',
    findProblem: () => {
      const errors = runtimeState.runtimeErrors();
      return errors.length === 0 ? undefined : errors.join('; ');
    },
  };
  const relist: HealthCheck = { name: 'pleg', findProblem: () => pleg.health().message };
  const all = [ping, log, syncLoop, runtime, relist];
  return { healthz: all, livez: [ping, log, syncLoop], readyz: all };
}
