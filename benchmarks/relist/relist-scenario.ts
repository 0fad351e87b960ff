import { atMost, formatEstimate, formatNumber, type Goal, ratioAtMost } from '../goals.js';
import { linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount, toCounts } from '../scenario.js';
import { type RelistFigures, runRelistBenchmark } from './relist-benchmark.js';
import { CPU_LIMIT, formatRelistReport, growthOf, TIME_LIMIT } from './relist-report.js';

/** No slice of work may keep the event loop for longer, in milliseconds. */
const SLICE_LIMIT_MS = 10;
/** Time in proportion to the containers, with a tenth for what caches no longer hold. */
const EXPONENT_LIMIT = 1.1;

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
      placeholder: 'N,N',
      about: 'containers on the node',
      short: '110,1000',
      full: '110,500,1000,5000,10000',
    },
    { name: 'rounds', placeholder: 'N', about: 'timed rounds of each size, at least', short: '30' },
    {
      name: 'budget',
      placeholder: 'SECONDS',
      about: 'for more rounds of each size, until the intervals are narrow',
      short: '15',
      full: '110',
    },
  ],
  run: async ({ full, setting, progress }) => {
    const figures = await runRelistBenchmark({
      sizes: toCounts(setting('sizes')),
      minRounds: toCount(setting('rounds')),
      budgetMs: toCount(setting('budget')) * 1_000,
      probeRounds: full ? 30 : 10,
      progress,
    });
    return {
      figures,
      text: formatRelistReport(figures),
      goals: [...figures.flatMap(judge), ...judgeGrowth(figures)],
      plots: [growth(figures)],
    };
  },
};

function judge({ containers, ratioOfMeans, cpuRatio, relist, bare }: RelistFigures): Goal[] {
  const at = `at ${containers} containers`;
  return [
    ratioAtMost(`wall time of a relist ${at}`, ratioOfMeans, TIME_LIMIT, 'the bare lists'),
    ratioAtMost(`CPU of a relist ${at}`, cpuRatio, CPU_LIMIT, 'the bare lists'),
    atMost(
      `longest slice of podloop’s own work in a relist ${at}, collector’s pauses apart`,
      ...([relist.loop.longestOwnMs, SLICE_LIMIT_MS, 'ms'] as const),
    ),
    {
      what: `longest turn of the event loop in a relist ${at}, transport and collector included`,
      goal: 'the bare lists have it too',
      measured: `${formatNumber(relist.loop.longestTurnMs)} ms, bare ${formatNumber(bare.loop.longestTurnMs)} ms`,
      met: undefined,
    },
  ];
}

function judgeGrowth(figures: readonly RelistFigures[]): Goal[] {
  const exponent = growthOf(figures, 'relist');
  if (exponent === undefined) return [];
  return [
    {
      what: 'growth of a relist’s time with the containers',
      goal: `power <= ${formatNumber(EXPONENT_LIMIT)}`,
      measured: formatEstimate(exponent),
      met: exponent.high <= EXPONENT_LIMIT,
    },
  ];
}

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
