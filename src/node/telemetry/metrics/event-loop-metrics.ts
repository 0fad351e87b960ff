import { performance } from 'node:perf_hooks';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The delay of the event loop in the last minute or two, in milliseconds. */
export interface LoopDelay {
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** How long the loop was busy and idle since its start, in milliseconds. */
interface LoopUse {
  readonly active: number;
  readonly idle: number;
}

/** Reports the delay of the event loop, which delays everything else as well. */
export function addEventLoopMetrics(
  registry: MetricsRegistry,
  delay: () => LoopDelay,
  use: () => LoopUse = () => performance.eventLoopUtilization(),
): void {
  const read = registry.oncePerScrape(delay);
  registry.readGauge(
    {
      name: 'podloop_event_loop_delay_max_seconds',
      help: 'By how much the event loop was late at most, in the last minute or two.',
    },
    () => read().maxMs / 1_000,
  );
  registry.readGauge(
    {
      name: 'podloop_event_loop_delay_p99_seconds',
      help: 'By how much the event loop was late in the worst hundredth of the last minute or two.',
    },
    () => read().p99Ms / 1_000,
  );
  registry.readCounter(
    {
      name: 'podloop_event_loop_active_seconds_total',
      help: 'For how long the event loop has had something to do.',
    },
    () => use().active / 1_000,
  );
  registry.readCounter(
    { name: 'podloop_event_loop_idle_seconds_total', help: 'For how long the event loop has waited.' },
    () => use().idle / 1_000,
  );
}
