import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** How the agent's own log gets on. */
export interface LogState {
  /** Lines that were given up because too many waited for their reader. */
  readonly dropped: number;
  /** Why what is written does not arrive, as of now; undefined when it does. */
  findProblem(): string | undefined;
}

/** Tells how the agent's own log gets on: what is missing in it cannot be read in it before it can be written again. */
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
