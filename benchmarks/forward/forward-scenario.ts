import { formatEstimate } from '../goals.js';
import { distributionOf, linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount } from '../scenario.js';
import { count } from '../setting-shapes.js';
import { bootstrapRatio, median, quantile } from '../stats.js';
import { formatTable } from '../text-table.js';
import { runForwardBenchmark } from './forward-benchmark.js';
import { type ForwardFigures, judgeForward } from './judge-forward.js';

/** Connections through a port-forward, next to direct ones. */
export const FORWARD: Scenario = {
  name: 'forward',
  title: 'Port-forward',
  about: 'connections at once through podloop port-forward, next to direct ones',
  runtimes: 'the one in the box, in a process of its own',
  needs: ['root', 'build'],
  fullMinutes: 2,
  settings: [
    {
      name: 'connections',
      takes: count({ most: 500 }),
      placeholder: 'N',
      about: 'at once',
      short: '100',
    },
    {
      name: 'forward-rounds',
      takes: count({ most: 1_000 }),
      placeholder: 'N',
      about: 'of direct connections and of forwarded ones, in turns',
      short: '10',
      full: '160',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runForwardBenchmark({
      connections: toCount(setting('connections')),
      rounds: toCount(setting('forward-rounds')),
      ...{ progress, signal },
    });
    return {
      figures,
      text: formatForwardReport(figures),
      goals: [judgeForward(figures)],
      plots: [plotForward(figures)],
    };
  },
};

const NAMES = { direct: 'direct to the pod’s address', forwarded: 'through podloop port-forward' };

function formatForwardReport({ connections, directMs, forwardedMs }: ForwardFigures): string {
  const ratio = bootstrapRatio(forwardedMs, directMs, median);
  const rows = [
    [NAMES.direct, directMs],
    [NAMES.forwarded, forwardedMs],
  ] as const;
  return `${connections} connections are opened at once by one process, each for one line there and back: direct to the address of a pod in the
box, and through \`podloop port-forward\`, the agent and the runtime, in turns. Timed is until all of them had their answer.

${formatTable(
  ['what', 'rounds', 'p50 ms', 'p90 ms', 'max ms'],
  rows.map(([what, times]) => [
    ...[what, String(times.length)],
    ...[0.5, 0.9, 1].map((q) => quantile(times, q).toFixed(1)),
  ]),
)}

Forwarded over direct, by the medians: ${formatEstimate(ratio)}.
`;
}

function plotForward({ connections, directMs, forwardedMs }: ForwardFigures): Plot {
  return {
    name: 'forward',
    alt: 'Share of rounds that were done after so many milliseconds',
    svg: linePlot({
      title: `${connections} connections at once into a pod of the runtime in the box`,
      x: { label: 'ms', scale: 'log' },
      y: { label: 'share of rounds' },
      series: [distributionOf(NAMES.direct, directMs), distributionOf(NAMES.forwarded, forwardedMs)],
      steps: true,
    }),
  };
}
