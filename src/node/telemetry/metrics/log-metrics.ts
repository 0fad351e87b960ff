import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The state of the agent's own log. */
export interface LogState {
  /** Lines that were dropped because too many waited for their reader. */
  readonly dropped: number;
  /** Why written lines do not arrive now; undefined when they do. */
  findProblem(): string | undefined;
}

/** Reports the state of the agent's own log, as a log that fails cannot report it. */
export function addLogMetrics(registry: MetricsRegistry, log: LogState): void {
  registry.readCounter(
    {
      name: 'podloop_log_lines_dropped_total',
      help: 'Lines of the log that were given up because too many waited for their reader.',
    },
    () => log.dropped,
  );
  registry.readGauge(
    { name: 'podloop_log_failing', help: 'Whether the log cannot be written now: 1 or 0.' },
    () => (log.findProblem() === undefined ? 0 : 1),
  );
}
