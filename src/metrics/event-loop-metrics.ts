import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type MetricsRegistry } from './metrics-registry.js';

/** How late timers were in a span of time; nanoseconds, with the monitor's own interval in it. */
export interface DelayMonitor {
  readonly max: number;
  readonly count: number;
  percentile(percentile: number): number;
  reset(): void;
}

/** What {@link addEventLoopMetrics} may be given instead of the real thing. */
export interface EventLoopMetricsOptions {
  readonly monitor?: DelayMonitor;
  /** For how long the loop was busy and idle since its start, in milliseconds. */
  readonly utilization?: () => { readonly active: number; readonly idle: number };
}

/** Short against what matters, which is a tenth of a second and more; long enough to cost nothing. */
const RESOLUTION_MS = 20;
/** A stall is shown for at least that long, so that no scraper misses it. */
const WINDOW_MS = 60_000;

interface Delays {
  readonly maxMs: number;
  readonly p99Ms: number;
}

/** Tells how late our own event loop is: what it is late by, everything else is late by too. */
export function addEventLoopMetrics(registry: MetricsRegistry, options: EventLoopMetricsOptions = {}): void {
  const { clock } = registry;
  const monitor = options.monitor ?? startMonitor(registry);
  const utilization = options.utilization ?? (() => performance.eventLoopUtilization());
  let before: Delays = { maxMs: 0, p99Ms: 0 };
  let windowSinceMs = clock.monotonicMs();
  const read = registry.oncePerScrape((): Delays => {
    const now = delaysOf(monitor);
    const both = {
      maxMs: Math.max(now.maxMs, before.maxMs),
      p99Ms: Math.max(now.p99Ms, before.p99Ms),
    };
    if (clock.monotonicMs() - windowSinceMs >= WINDOW_MS) {
      before = now;
      windowSinceMs = clock.monotonicMs();
      monitor.reset();
    }
    return both;
  });
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
    () => utilization().active / 1_000,
  );
  registry.readCounter(
    { name: 'podloop_event_loop_idle_seconds_total', help: 'For how long the event loop has waited.' },
    () => utilization().idle / 1_000,
  );
}

function delaysOf(monitor: DelayMonitor): Delays {
  if (monitor.count === 0) return { maxMs: 0, p99Ms: 0 };
  const lateMs = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  return { maxMs: lateMs(monitor.max), p99Ms: lateMs(monitor.percentile(99)) };
}

function startMonitor(registry: MetricsRegistry): DelayMonitor {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  registry.onDispose(() => monitor.disable());
  return monitor;
}
