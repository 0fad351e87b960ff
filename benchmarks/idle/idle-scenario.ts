import { MAX_PODS } from '../agents/memory-node.js';
import { formatEstimate } from '../goals.js';
import { barPlot, type Plot } from '../plot.js';
import { type Scenario, toCount, toCounts } from '../scenario.js';
import { count, listOf, SECONDS } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import {
  type IdleFigures,
  type IdleSizeFigures,
  MODES,
  PROGRAMS,
  runIdleBenchmark,
} from './idle-benchmark.js';
import { judgeIdle } from './judge-idle.js';

/** Nothing happens. */
export const IDLE: Scenario = {
  name: 'idle',
  title: 'Idle',
  about: 'CPU, wake-ups and memory on a node on which nothing happens',
  runtimes: 'in memory, in a process of its own',
  needs: ['root', 'build'],
  fullMinutes: 26,
  settings: [
    {
      name: 'idle-pods',
      takes: listOf(count({ most: MAX_PODS })),
      placeholder: 'N,N',
      about: 'pods on the node',
      short: '110',
      full: '110,500',
    },
    {
      name: 'idle-seconds',
      takes: SECONDS,
      placeholder: 'N',
      about: 'for each size',
      short: '30',
      full: '600',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runIdleBenchmark({
      sizes: toCounts(setting('idle-pods')),
      seconds: toCount(setting('idle-seconds')),
      ...{ progress, signal },
    });
    return {
      figures,
      text: formatIdleReport(figures),
      goals: figures.flatMap(judgeIdle),
      plots: [plotCpu(figures)],
    };
  },
};

function formatIdleReport(figures: readonly IdleSizeFigures[]): string {
  return `Agents with every option as it is unless told, and the generator alone (\`podloop watch\`), all over the same ${figures[0]?.seconds ?? 0} seconds in windows of
ten. Before, 20 containers ended and were restarted, each announced by the runtime, and all was quiet for a while. CPU is
that of all threads and of what they start; a wake-up is a thread that had gone to sleep. Each process says a line of each pause of its collector, which
costs all of them something. All agents are on their own: what a
cluster adds is the scenario \`joined\`.

${formatTable(
  [
    'pods',
    'program',
    'mode',
    'CPU s',
    '% of a core',
    'wake-ups a second',
    'RSS MiB',
    'GC pauses',
    'longest, ms',
  ],
  figures.flatMap(({ processes }) =>
    processes.map((one: IdleFigures) => [
      String(one.pods),
      ...[one.program, one.mode],
      one.cpuSeconds.toFixed(2),
      one.cpuPercent.toFixed(2),
      one.wakeUpsPerSecond.toFixed(1),
      one.rssMiB.toFixed(0),
      ...[String(one.pauses.count), one.pauses.longestMs.toFixed(1)],
    ]),
  ),
)}

Lists of all containers that the agent and the generator together asked for, a second: ${figures
    .map(
      ({ pods, listsPerSecond }) =>
        `${MODES.map((mode) => `${mode} ${listsPerSecond[mode].toFixed(2)}`).join(', ')} with ${pods} pods`,
    )
    .join(
      '; ',
    )}. Auto stretches its period to 10 s, on to 20 and 40, and to 60 s after 70 quiet seconds: two programs
are at 0.03 then, and at 2 where the period is not stretched.

CPU in mode auto to that in mode generic; windows are drawn anew together with their neighbours, since a process that has
more to do in one often has more to do in the next:

${formatTable(
  ['pods', ...PROGRAMS],
  figures.map(({ pods, ratios }) => [
    String(pods),
    ...PROGRAMS.map((program) => formatEstimate(ratios[program])),
  ]),
)}
`;
}

function plotCpu(figures: readonly IdleSizeFigures[]): Plot {
  return {
    name: 'idle-cpu',
    alt: 'CPU of idle agents and generators by mode',
    svg: barPlot({
      title: 'CPU on an idle node',
      y: { label: '% of a core' },
      groups: figures.flatMap(({ pods }) => PROGRAMS.map((program) => `${program}, ${pods} pods`)),
      series: MODES.map((label) => ({
        label,
        values: figures.flatMap(({ processes }) =>
          PROGRAMS.map(
            (program) =>
              processes.find((each) => each.program === program && each.mode === label)?.cpuPercent ??
              Number.NaN,
          ),
        ),
      })),
    }),
  };
}
