import { type Scenario, toCount } from '../scenario.js';
import { formatTable } from '../text-table.js';
import { runStartupBenchmark, type StartupBenchmarkFigures } from './startup-benchmark.js';

/** From nothing to of use. */
export const STARTUP: Scenario = {
  name: 'startup',
  title: 'Start-up',
  about: 'from the start of a process to its first event and to healthy; from a manifest to its container',
  runtimes: 'in memory, in a process of its own',
  needs: ['root'],
  fullMinutes: 6,
  settings: [
    { name: 'startup-pods', placeholder: 'N', about: 'pods on the node', short: '100', full: '500' },
    { name: 'starts', placeholder: 'N', about: 'of each program, and new pods', short: '5', full: '30' },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runStartupBenchmark({
      pods: toCount(setting('startup-pods')),
      rounds: toCount(setting('starts')),
      ...{ progress, signal },
    });
    return { figures, text: formatStartupReport(figures), goals: [] };
  },
};

function formatStartupReport({ pods, startups, podStarts }: StartupBenchmarkFigures): string {
  return `From the start of a process, with ${pods} pods on the node, and from a manifest to its container there. The runtime is in memory and
answers at once, so that what is left is podloop's own time and Node's. Each agent comes after one that was killed, and no
container was restarted by it.

${formatTable(
  ['what', 'times', 'p50 ms', 'p90 ms', 'max ms'],
  [...startups, podStarts].map(({ what, tookMs, p50Ms, p90Ms, maxMs }) => [
    what,
    String(tookMs.length),
    ...[p50Ms, p90Ms, maxMs].map((ms) => ms.toFixed(0)),
  ]),
)}
`;
}
