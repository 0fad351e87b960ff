import { formatEstimate } from '../goals.js';
import { linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount, toCounts } from '../scenario.js';
import { count, listOf } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import { type BurstFigures, runBurstBenchmark } from './burst-benchmark.js';
import { judgeBurst } from './judge-burst.js';

/** Every pod changes at once. */
export const BURST: Scenario = {
  name: 'burst',
  title: 'Burst',
  about: 'every pod changes between two relists, and each status call takes a while',
  runtimes: 'synthetic, in a process of its own',
  needs: [],
  fullMinutes: 10,
  settings: [
    {
      name: 'pods',
      takes: count({ most: 10_000 }),
      placeholder: 'N',
      about: 'pods that change',
      short: '100',
      full: '500',
    },
    {
      name: 'status',
      takes: count({ most: 60_000 }),
      placeholder: 'MS',
      about: 'what a status call takes',
      short: '20',
    },
    {
      name: 'places',
      takes: listOf(count({ most: 1_000 })),
      placeholder: 'N,N',
      about: 'inspections beside one another',
      short: '16',
      full: '8,16,32',
    },
    {
      name: 'bursts',
      takes: count({ most: 1_000 }),
      placeholder: 'N',
      about: 'bursts for each number of places',
      short: '5',
      full: '30',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const [pods, statusMs] = [toCount(setting('pods')), toCount(setting('status'))];
    const figures = await runBurstBenchmark({
      ...{ pods, statusMs, progress, signal },
      concurrencies: toCounts(setting('places')),
      rounds: toCount(setting('bursts')),
    });
    return {
      figures: { pods, statusMs, places: figures },
      text: formatBurstReport(figures, pods, statusMs),
      goals: judgeBurst(figures, { pods, statusMs }),
      plots: [plotBurst(figures)],
    };
  },
};

function formatBurstReport(figures: readonly BurstFigures[], pods: number, statusMs: number): string {
  return `A container of each of ${pods} pods ends behind the generator's back, and every status call takes ${statusMs} ms: from the begin of the next
relist until its last event; bursts without that wait went before, so that code is compiled. One place is inspecting one pod after
another. The last columns are by what a timer of 1 ms was late, in all bursts
together.

${formatTable(
  ['places', 'bursts', 'p50 ms', 'max ms', 'times faster', 'loop p99.9 ms', 'loop max ms'],
  figures.map((one) => [
    String(one.concurrency),
    String(one.lastEventMs.length),
    one.medianMs.toFixed(0),
    one.longestMs.toFixed(0),
    formatEstimate(one.speedUp),
    one.loopP999Ms.toFixed(1),
    one.loopMaxMs.toFixed(1),
  ]),
)}
`;
}

function plotBurst(figures: readonly BurstFigures[]): Plot {
  const sorted = figures.toSorted((one, other) => one.concurrency - other.concurrency);
  return {
    name: 'burst',
    alt: 'How many times sooner a burst is known, over the number of inspections beside one another',
    svg: linePlot({
      title: 'A burst, against one pod after another',
      x: { label: 'inspections beside one another' },
      y: { label: 'times faster' },
      series: [
        {
          label: 'measured',
          points: sorted.map(({ concurrency, speedUp: { value, low, high } }) => ({
            x: concurrency,
            y: value,
            low,
            high,
          })),
        },
        {
          label: 'as many as there are places',
          points: sorted.map(({ concurrency: n }) => ({ x: n, y: n })),
        },
      ],
    }),
  };
}
