import { MAX_PODS } from '../agents/memory-node.js';
import { distributionOf, linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount } from '../scenario.js';
import { count } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import {
  runStartupBenchmark,
  type StartupBenchmarkFigures,
  type StartupFigures,
} from './startup-benchmark.js';

/** Each leaves a new pod beside those that were there. */
const MAX_STARTS = 100;

/** From nothing to of use. */
export const STARTUP: Scenario = {
  name: 'startup',
  title: 'Start-up',
  about: 'from the start of a process to its first event and to healthy; from a manifest to its container',
  runtimes: 'in memory, in a process of its own',
  needs: ['root', 'build'],
  fullMinutes: 6,
  settings: [
    {
      name: 'startup-pods',
      takes: count({ most: MAX_PODS - MAX_STARTS }),
      placeholder: 'N',
      about: 'pods on the node',
      short: '100',
      full: '500',
    },
    {
      name: 'starts',
      takes: count({ most: MAX_STARTS }),
      placeholder: 'N',
      about: 'of each program, and new pods',
      short: '5',
      full: '30',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runStartupBenchmark({
      pods: toCount(setting('startup-pods')),
      rounds: toCount(setting('starts')),
      ...{ progress, signal },
    });
    return { figures, text: formatStartupReport(figures), goals: [], plots: [plotStartups(figures)] };
  },
};

function formatStartupReport({ pods, startups, podStarts }: StartupBenchmarkFigures): string {
  return `From the start of a process, with ${pods} pods on the node. The runtime is in memory and answers at once, so that what is left is
podloop's own time and Node's. Each agent comes after one that was killed, and no container was restarted by it.

${formatTimes(startups)}

A new pod there, one at a time, until its container runs by the runtime's record. What is not podloop's is the time in which at
least one call about the pod, or about an image, was not answered yet.

${formatTimes(podStarts)}
`;
}

function formatTimes(figures: readonly StartupFigures[]): string {
  return formatTable(
    ['what', 'times', 'p50 ms', 'p90 ms', 'max ms'],
    figures.map(({ what, tookMs, p50Ms, p90Ms, maxMs }) => [
      ...[what, String(tookMs.length)],
      ...[p50Ms, p90Ms, maxMs].map((ms) => ms.toFixed(ms < 100 ? 1 : 0)),
    ]),
  );
}

function plotStartups({ pods, startups, podStarts }: StartupBenchmarkFigures): Plot {
  return {
    name: 'startup',
    alt: 'Share of starts that were done after so many milliseconds',
    svg: linePlot({
      title: `From the start of a process, or a manifest, with ${pods} pods on the node`,
      x: { label: 'ms', scale: 'log' },
      y: { label: 'share of starts' },
      series: [...startups, ...podStarts.slice(0, 1)].map(({ name, tookMs }) => distributionOf(name, tookMs)),
      steps: true,
    }),
  };
}
