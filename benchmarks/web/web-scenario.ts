import { formatNumber } from '../goals.js';
import { linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount } from '../scenario.js';
import { count, SECONDS } from '../setting-shapes.js';
import { quantile } from '../stats.js';
import { formatTable } from '../text-table.js';
import { judgeWeb } from './judge-web.js';
import { runWebBenchmark, type WebFigures } from './web-benchmark.js';

/** The page of a large node that is busy. */
export const WEB: Scenario = {
  name: 'web',
  title: 'The page',
  about: 'the page of a busy node: long tasks of the browser, memory',
  runtimes: 'none: an agent whose answers are made up',
  needs: ['build', 'browser'],
  fullMinutes: 13,
  settings: [
    {
      name: 'shown',
      takes: count({ most: 5_000 }),
      placeholder: 'N',
      about: 'pods on the page',
      short: '100',
      full: '500',
    },
    {
      name: 'records',
      takes: count({ most: 150_000 }),
      placeholder: 'N',
      about: 'of the history, when the page is opened: 150,000 are what it holds',
      short: '10000',
      full: '150000',
    },
    { name: 'changes', takes: count({ most: 1_000 }), placeholder: 'N', about: 'a second', short: '50' },
    {
      name: 'watched',
      takes: SECONDS,
      placeholder: 'N',
      about: 'seconds for which somebody watches',
      short: '20',
      full: '600',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runWebBenchmark({
      ...{ pods: toCount(setting('shown')), records: toCount(setting('records')), progress, signal },
      ...{ changesPerSecond: toCount(setting('changes')), seconds: toCount(setting('watched')) },
    });
    return {
      figures,
      text: formatWebReport(figures),
      goals: judgeWeb(figures),
      plots: [plotMemory(figures)],
    };
  },
};

function formatWebReport(figures: WebFigures): string {
  const { pods, records, changesPerSecond, seconds, browser, loadedMs, tasks, cpuMs, heap } = figures;
  return `A history of ${records} records of ${pods} pods, then ${changesPerSecond} changes a second for ${seconds} seconds, each a record and a new
status of its pod, in ${browser} without a window. Somebody watches the timeline, zooms and moves it every two seconds, and has the table of all pods
for five seconds of each half minute.
A long task is one of more than 50 ms, as browsers count them: while it lasts, the page answers nobody.

${formatTable(
  ['', 'tasks above 50 ms', 'p50 ms', 'p95 ms', 'longest ms', 'share of the time'],
  [
    rowOf('while the history is read', tasks.loading, loadedMs),
    rowOf('while changes come', tasks.following, seconds * 1_000),
  ],
)}

Of the last minute, tasks that took more than 50 ms of processor time: ${cpuMs.length}${
    cpuMs.length === 0 ? '' : `, the longest ${Math.max(...cpuMs).toFixed(0)} ms`
  }. Others on the machine make tasks longer, and this hardly.

The history is shown ${formatNumber(loadedMs / 1_000)} s after the page was opened. What lives in its heap: ${formatNumber(heap.loadedMiB)} MiB then,
${formatNumber(heap.endMiB)} MiB at the end, each after a full collection.
`;
}

function rowOf(when: string, durationsMs: readonly number[], ofMs: number): string[] {
  // As it is judged.
  const at = (part: number): string =>
    durationsMs.length === 0 ? '–' : quantile(durationsMs, part).toFixed(0);
  const sum = durationsMs.reduce((all, each) => all + each, 0);
  const share = `${((100 * sum) / ofMs).toFixed(1)} %`;
  return [when, String(durationsMs.length), at(0.5), at(0.95), at(1), share];
}

function plotMemory({ heap }: WebFigures): Plot {
  return {
    name: 'web-memory',
    alt: 'The heap of the page over the time in which somebody watches it',
    svg: linePlot({
      title: 'Heap of the page',
      x: { label: 'seconds' },
      y: { label: 'MiB' },
      series: [{ label: 'in use or not collected yet', points: heap.samples.map(([x, y]) => ({ x, y })) }],
    }),
  };
}
