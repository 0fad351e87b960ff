import { PLEG_MODES } from '#watch';
import { formatNumber } from '../goals.js';
import { linePlot, type Plot } from '../plot.js';
import { type Scenario, toCount } from '../scenario.js';
import { count, listOf, oneOf, SECONDS } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import { type ChurnFigures, type MemoryPart, runChurnBenchmark } from './churn-benchmark.js';
import { formatGrowth, judgeChurn } from './judge-churn.js';

const MEMORY_PARTS = [
  ['resident', 'resident'],
  ['heap', 'heap of V8'],
  ['external', 'buffers'],
  ['live', 'lives in the heap'],
] as const satisfies readonly (readonly [MemoryPart, string])[];

/** Deaths without end. */
export const CHURN: Scenario = {
  name: 'churn',
  title: 'Churn',
  about: 'many deaths a second: events lost, queues, memory',
  runtimes: 'synthetic, in a process of its own',
  needs: [],
  fullMinutes: 21,
  settings: [
    {
      name: 'modes',
      takes: listOf(oneOf(PLEG_MODES)),
      placeholder: 'M,M',
      about: 'of the generator',
      short: 'auto',
      full: 'generic,auto',
    },
    {
      name: 'node',
      takes: count({ most: 10_000 }),
      placeholder: 'N',
      about: 'pods on the node',
      short: '500',
    },
    { name: 'rate', takes: count({ most: 1_000 }), placeholder: 'N', about: 'deaths a second', short: '50' },
    { name: 'seconds', takes: SECONDS, placeholder: 'N', about: 'for each mode', short: '20', full: '600' },
  ],
  run: async ({ setting, progress, signal }) => {
    const [pods, deathsPerSecond] = [toCount(setting('node')), toCount(setting('rate'))];
    const figures = await runChurnBenchmark({
      ...{ pods, deathsPerSecond, progress, signal },
      modes: setting('modes').split(',').map(toMode),
      seconds: toCount(setting('seconds')),
    });
    return {
      figures: { pods, deathsPerSecond, modes: figures },
      text: formatChurnReport(figures, pods, deathsPerSecond),
      goals: figures.flatMap(judgeChurn),
      plots: [plotMemory(figures)],
    };
  },
};

function formatChurnReport(figures: readonly ChurnFigures[], pods: number, deathsPerSecond: number): string {
  return `${deathsPerSecond} of the containers of ${pods} pods are killed each second, replaced half a second later and removed after five seconds.

${formatTable(
  [
    'mode',
    'deaths',
    'a second',
    'lost',
    'twice',
    'never were',
    'folded',
    'deepest queue',
    'event p50 ms',
    'p99 ms',
    'relists',
    'relist p50 ms',
    'p99 ms',
  ],
  figures.map((one) => [
    one.mode,
    String(one.deaths),
    one.madePerSecond.toFixed(1),
    ...[one.lost, one.repeated, one.unfounded, one.folded, one.deepestQueue].map(String),
    ...[one.delayP50Ms, one.delayP99Ms].map((ms) => ms.toFixed(1)),
    String(one.relists),
    ...[one.relistP50Ms, one.relistP99Ms].map((ms) => ms.toFixed(1)),
  ]),
)}

Memory is that of the whole process, the benchmark included, in MiB: all that is resident; V8's heap, in use or not; buffers outside
of it; and what was in use after each full collection that V8 made. Its growth is that of the least of every twenty seconds, after the first
${formatNumber(figures[0]?.warmUpSeconds ?? 0)} seconds. It is judged only where the benchmark's own records of who died were full by then.

${formatTable(
  ['mode', 'memory', 'least at first', 'at last', 'growth MiB/h'],
  figures.flatMap(({ mode, memory }) =>
    MEMORY_PARTS.map(([part, name]) => {
      const { first, last, growthAnHour } = memory[part];
      return [mode, name, formatNumber(first), formatNumber(last), formatGrowth(growthAnHour)];
    }),
  ),
)}
`;
}

function plotMemory(figures: readonly ChurnFigures[]): Plot {
  return {
    name: 'churn-memory',
    alt: 'Resident memory, and what lives in the heap, over the time of the churn',
    svg: linePlot({
      title: 'Memory under churn',
      x: { label: 'seconds' },
      y: { label: 'MiB' },
      series: figures.flatMap(({ mode, memory }) =>
        (['resident', 'live'] as const).map((part) => ({
          label: `${mode}, ${part}`,
          points: memory[part].values.atS.map((x, at) => ({ x, y: memory[part].values.value[at]! })),
        })),
      ),
      steps: true,
    }),
  };
}

function toMode(text: string): (typeof PLEG_MODES)[number] {
  const mode = PLEG_MODES.find((known) => known === text);
  if (mode === undefined) throw new Error(`mode "${text}" is none of ${PLEG_MODES.join(', ')}`);
  return mode;
}
