import { MAX_PODS } from '../agents/memory-node.js';
import { formatEstimate } from '../goals.js';
import { type ProcessFigures } from '../idle/watch-idle.js';
import { type Scenario, toCount, toCounts } from '../scenario.js';
import { count, listOf, SECONDS } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import { type JoinedFigures, runJoinedBenchmark } from './joined-benchmark.js';

/** Nothing happens, as a node of a cluster. */
export const JOINED: Scenario = {
  name: 'joined',
  title: 'Idle in a cluster',
  about: 'what a cluster adds to the CPU and memory of an idle agent',
  runtimes: 'in memory, in a process of its own',
  needs: ['root', 'build', 'control plane'],
  fullMinutes: 14,
  joinsCluster: true,
  settings: [
    {
      name: 'joined-pods',
      takes: listOf(count({ most: MAX_PODS })),
      placeholder: 'N,N',
      about: 'pods on the node',
      short: '110',
      full: '110,500',
    },
    {
      name: 'joined-seconds',
      takes: SECONDS,
      placeholder: 'N',
      about: 'for each size',
      short: '30',
      full: '300',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runJoinedBenchmark({
      sizes: toCounts(setting('joined-pods')),
      seconds: toCount(setting('joined-seconds')),
      ...{ progress, signal },
    });
    return { figures, text: formatJoinedReport(figures), goals: [] };
  },
};

function formatJoinedReport(figures: readonly JoinedFigures[]): string {
  return `An agent on its own and one that is a node of a control plane (etcd, API server, scheduler and controller manager), with as
many pods from files each, all over the same ${figures[0]?.seconds ?? 0} seconds in windows of ten, mode auto. The cluster shows the pods of the second
one as mirror pods, all of them Ready before and after. Before, 20 containers ended and were restarted on both, and all was
quiet for a while. What is added is the client of the cluster and its watches, the lease that is renewed every ten
seconds, and the server on the node's port. Nothing is judged here.

${formatTable(
  ['pods', 'agent', 'CPU s', '% of a core', 'wake-ups a second', 'RSS MiB', 'GC pauses', 'longest, ms'],
  figures.flatMap(({ pods, alone, joined }) => [
    formatRow(pods, 'on its own', alone),
    formatRow(pods, 'joined', joined),
  ]),
)}

${formatTable(
  ['pods', 'CPU, joined to on its own', 'CPU added, % of a core', 'RSS added, MiB'],
  figures.map(({ pods, alone, joined, cpuRatio }) => [
    ...[String(pods), formatEstimate(cpuRatio)],
    (joined.cpuPercent - alone.cpuPercent).toFixed(2),
    (joined.rssMiB - alone.rssMiB).toFixed(0),
  ]),
)}
`;
}

function formatRow(pods: number, agent: string, found: ProcessFigures): string[] {
  const { cpuSeconds, cpuPercent, wakeUpsPerSecond, rssMiB, pauses } = found;
  return [
    ...[String(pods), agent, cpuSeconds.toFixed(2), cpuPercent.toFixed(2)],
    ...[wakeUpsPerSecond.toFixed(1), rssMiB.toFixed(0), String(pauses.count), pauses.longestMs.toFixed(1)],
  ];
}
