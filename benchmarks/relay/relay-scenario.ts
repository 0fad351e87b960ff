import { type Scenario, toCount } from '../scenario.js';
import { count, SECONDS } from '../setting-shapes.js';
import { judgeRelay } from './judge-relay.js';
import { runRelayBenchmark } from './relay-benchmark.js';
import { formatRelayReport } from './relay-report.js';

/** Calls through the relay of frames and through chaos, next to a bare byte pipe. */
export const RELAY: Scenario = {
  name: 'relay',
  title: 'Relay',
  about: 'calls through the relay of frames and through chaos, next to a bare byte pipe',
  runtimes: 'synthetic, in a process of its own',
  needs: [],
  fullMinutes: 14,
  settings: [
    {
      name: 'rounds',
      takes: count({ most: 10_000 }),
      placeholder: 'N',
      about: 'timed rounds of each comparison, at least',
      short: '30',
    },
    {
      name: 'relay-budget',
      takes: SECONDS,
      placeholder: 'SECONDS',
      about: 'for more rounds of each comparison, until the intervals are narrow',
      short: '10',
      full: '60',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runRelayBenchmark({
      minRounds: toCount(setting('rounds')),
      budgetMs: toCount(setting('relay-budget')) * 1_000,
      ...{ progress, signal },
    });
    return {
      figures,
      text: formatRelayReport(figures),
      goals: figures.map(judgeRelay),
    };
  },
};
