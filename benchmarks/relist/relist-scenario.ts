import { linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount, toCounts } from '../scenario.js';
import { count, listOf, SECONDS } from '../setting-shapes.js';
import { judgeGrowth, judgeRelist } from './judge-relist.js';
import { CONTAINERS_PER_POD, type RelistFigures, runRelistBenchmark } from './relist-benchmark.js';
import { formatRelistReport } from './relist-report.js';

/** A node's containers come in pods of two; beyond the limit an answer is larger than what a client takes. */
const SIZES = listOf(count({ most: 50_000, multipleOf: CONTAINERS_PER_POD }));

/** The longest of few turns says little. */
const PROBE_ROUNDS = 30;

/** Idle relists, next to the bare list calls. */
export const RELIST: Scenario = {
  name: 'relist',
  title: 'Relist',
  about: 'idle relists next to the bare list calls',
  runtimes: 'synthetic, in a process of its own',
  needs: [],
  fullMinutes: 12,
  settings: [
    {
      name: 'sizes',
      takes: SIZES,
      placeholder: 'N,N',
      about: 'containers on the node',
      short: '110,1000',
      full: '110,500,1000,5000,10000',
    },
    {
      name: 'rounds',
      takes: count({ most: 10_000 }),
      placeholder: 'N',
      about: 'timed rounds of each size, at least',
      short: '30',
    },
    {
      name: 'budget',
      takes: SECONDS,
      placeholder: 'SECONDS',
      about: 'for more rounds of each size, until the intervals are narrow',
      short: '15',
      full: '110',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runRelistBenchmark({
      sizes: toCounts(setting('sizes')),
      minRounds: toCount(setting('rounds')),
      budgetMs: toCount(setting('budget')) * 1_000,
      probeRounds: PROBE_ROUNDS,
      ...{ progress, signal },
    });
    return {
      figures,
      text: formatRelistReport(figures),
      goals: [...figures.flatMap(judgeRelist), ...judgeGrowth(figures)],
      plots: [growth(figures)],
    };
  },
};

function growth(figures: readonly RelistFigures[]): Plot {
  const side = (label: string, of: (one: RelistFigures) => number) => ({
    label,
    points: figures.map((one) => ({ x: one.containers, y: of(one) })),
  });
  const svg = linePlot({
    ...{ title: 'An idle relist, median', x: { label: 'containers' }, y: { label: 'ms' } },
    series: [side('relist', ({ relist }) => relist.p50Ms), side('bare lists', ({ bare }) => bare.p50Ms)],
  });
  return {
    name: 'relist-growth',
    alt: 'Time of a relist and of the bare lists over the number of containers',
    svg,
  };
}
