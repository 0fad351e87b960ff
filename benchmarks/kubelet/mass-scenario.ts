import { type Scenario, toCount } from '../scenario.js';
import { KUBELET_RELEASE } from './bench-node.js';
import { judgeMass } from './judge-mass.js';
import { runMassBenchmark } from './mass-benchmark.js';
import { formatMassReport } from './mass-report.js';

/** Beside the Go kubelet, many pods at once. */
export const KUBELET_MASS: Scenario = {
  name: 'kubelet-mass',
  title: 'Beside the kubelet, many at once',
  about:
    'podloop and the Go kubelet in turns: many pods start, idle and end at once, and an agent comes back',
  runtimes: `containerd ${KUBELET_RELEASE}`,
  needs: ['root', 'build', 'containerd', 'kubelet'],
  fullMinutes: 58,
  releases: () => [KUBELET_RELEASE],
  settings: [
    {
      name: 'mass-turns',
      placeholder: 'N',
      about: 'turns in which many start and end at once',
      short: '1',
      full: '3',
    },
    { name: 'base', placeholder: 'N', about: 'pods that are there before', short: '10', full: '68' },
    { name: 'mass', placeholder: 'N', about: 'pods put down at once', short: '20', full: '200' },
    { name: 'exited', placeholder: 'N', about: 'ended containers at the restart', short: '60', full: '750' },
    {
      name: 'idle-for',
      placeholder: 'SECONDS',
      about: 'of idling that is measured',
      short: '10',
      full: '60',
    },
    {
      name: 'settle-for',
      placeholder: 'SECONDS',
      about: 'of quiet before that',
      short: '5',
      full: '90',
    },
  ],
  run: async ({ setting, parts, progress, signal }) => {
    const figures = await runMassBenchmark({
      kubelet: process.env['KUBELET']!,
      turns: toCount(setting('mass-turns')),
      base: toCount(setting('base')),
      mass: toCount(setting('mass')),
      exited: toCount(setting('exited')),
      settleMs: toCount(setting('settle-for')) * 1_000,
      idleMs: toCount(setting('idle-for')) * 1_000,
      ...{ parts, progress, signal },
    });
    return { figures, text: formatMassReport(figures), goals: judgeMass(figures) };
  },
};
