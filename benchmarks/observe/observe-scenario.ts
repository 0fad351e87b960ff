import { atMost, type Goal } from '../goals.js';
import { type Scenario, toCount } from '../scenario.js';
import { count, SECONDS } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import { type ObserveFigures, type PhaseFigures, runObserveBenchmark } from './observe-benchmark.js';

/** Of one core, percent. */
const CPU_LIMIT = 0.5;
const MEMORY_LIMIT_MIB = 90;
/** At this size, and over as long, the goals are judged. */
const JUDGED_PODS = 110;
const JUDGED_SECONDS = 600;
const MOST_PODS = 500;

/** An observer beside a kubelet, while nothing happens. */
export const OBSERVE: Scenario = {
  name: 'observe',
  title: 'An observer beside a kubelet',
  about: 'CPU and memory of podloop observe, and what it costs containerd',
  runtimes: 'containerd 1.7, with a real kubelet',
  needs: ['root', 'build', 'containerd', 'kubelet'],
  fullMinutes: 45,
  releases: () => ['1.7'],
  settings: [
    {
      name: 'observe-pods',
      takes: count({ most: MOST_PODS }),
      placeholder: 'N',
      about: 'pods on the node',
      short: '10',
      full: '110',
    },
    {
      name: 'observe-seconds',
      takes: SECONDS,
      placeholder: 'N',
      about: 'for each of the three phases',
      short: '30',
      full: '600',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runObserveBenchmark({
      ...{ pods: toCount(setting('observe-pods')), seconds: toCount(setting('observe-seconds')) },
      ...{ kubelet: process.env['KUBELET']!, progress, signal },
    });
    return { figures, text: formatObserveReport(figures), goals: judgeObserve(figures) };
  },
};

/** What is judged: both are upper bounds of one process over a long time. */
export function judgeObserve({ pods, seconds, observer }: ObserveFigures): Goal[] {
  const goals = [
    atMost(`CPU of podloop observe with ${pods} idle pods`, observer.cpuPercent, CPU_LIMIT, '% of a core'),
    atMost(`memory of podloop observe with ${pods} idle pods`, observer.rssMiB, MEMORY_LIMIT_MIB, 'MiB'),
  ];
  if (pods >= JUDGED_PODS && seconds >= JUDGED_SECONDS) return goals;
  return goals.map((goal) => ({ ...goal, met: undefined, unjudged: `${pods} pods, ${seconds} seconds` }));
}

function formatObserveReport({ pods, seconds, observer, containerd, kubelet }: ObserveFigures): string {
  const row = (name: string, phases: readonly PhaseFigures[]): string[] => [
    name,
    ...phases.map(({ cpuPercent }) => cpuPercent.toFixed(2)),
  ];
  return `${pods} pods of a real kubelet, on which nothing happens, over ${seconds} seconds each without an observer, with one, and without it
again. The observer has every option at its default and everything on: lists, containerd's events, history, the rules of the doctor, the flight
recorder. CPU is that of all threads and of what they start.

${formatTable(
  ['program', 'CPU before, % of a core', 'with the observer', 'after'],
  [row('containerd', containerd), row('kubelet', kubelet)],
)}

${formatTable(
  ['program', '% of a core', 'wake-ups a second', 'RSS MiB'],
  [
    [
      ...['podloop observe', observer.cpuPercent.toFixed(2)],
      ...[observer.wakeUpsPerSecond.toFixed(1), observer.rssMiB.toFixed(0)],
    ],
  ],
)}
`;
}
