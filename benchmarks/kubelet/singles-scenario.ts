import { type Scenario, toCount } from '../scenario.js';
import { KUBELET_RELEASE } from './bench-node.js';
import { judgeSingles } from './judge-singles.js';
import { runSinglesBenchmark } from './singles-benchmark.js';
import { formatSinglesReport } from './singles-report.js';

/** Beside the Go kubelet, one pod at a time. */
export const KUBELET: Scenario = {
  name: 'kubelet',
  title: 'Beside the kubelet, one at a time',
  about: 'podloop and the Go kubelet in turns on the same containerd: pods start and end one at a time',
  runtimes: `containerd ${KUBELET_RELEASE}`,
  needs: ['root', 'build', 'containerd', 'kubelet'],
  fullMinutes: 33,
  releases: () => [KUBELET_RELEASE],
  settings: [
    {
      name: 'turns',
      placeholder: 'N',
      about: 'turns in which pods start and end one at a time',
      short: '1',
      full: '10',
    },
    { name: 'singles', placeholder: 'N', about: 'such pods in each turn', short: '5', full: '12' },
  ],
  run: async ({ setting, parts, progress, signal }) => {
    const figures = await runSinglesBenchmark({
      kubelet: process.env['KUBELET']!,
      turns: toCount(setting('turns')),
      singles: toCount(setting('singles')),
      ...{ parts, progress, signal },
    });
    return { figures, text: formatSinglesReport(figures), goals: judgeSingles(figures) };
  },
};
