import { type Scenario, toCount } from '../scenario.js';
import { KUBELET_RELEASE } from './bench-node.js';
import { runHungBenchmark } from './hung-benchmark.js';
import { formatHungReport } from './hung-report.js';
import { judgeHung } from './judge-hung.js';

/** Beside the Go kubelet, while calls about some pods hang. */
export const KUBELET_HUNG: Scenario = {
  name: 'kubelet-hung',
  title: 'Beside the kubelet, calls that hang',
  about: 'podloop and the Go kubelet in turns: ends of others, and health, while calls about some pods hang',
  runtimes: `containerd ${KUBELET_RELEASE}`,
  needs: ['root', 'build', 'containerd', 'kubelet'],
  fullMinutes: 34,
  releases: () => [KUBELET_RELEASE],
  settings: [
    {
      name: 'hung-deaths',
      placeholder: 'N',
      about: 'of other pods, one after the other',
      short: '3',
      full: '12',
    },
    {
      name: 'hung-wait',
      placeholder: 'SECONDS',
      about: 'for ends while calls hang',
      short: '20',
      full: '330',
    },
    {
      name: 'hang-for',
      placeholder: 'SECONDS',
      about: 'at least, for which calls hang; judged from 240',
      short: '20',
      full: '240',
    },
  ],
  run: async ({ setting, parts, progress, signal }) => {
    const figures = await runHungBenchmark({
      kubelet: process.env['KUBELET']!,
      deaths: toCount(setting('hung-deaths')),
      hungWaitMs: toCount(setting('hung-wait')) * 1_000,
      hangMs: toCount(setting('hang-for')) * 1_000,
      ...{ parts, progress, signal },
    });
    return { figures, text: formatHungReport(figures), goals: judgeHung(figures) };
  },
};
