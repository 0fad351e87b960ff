import { type Goal } from '../goals.js';
import { type Scenario, toCount } from '../scenario.js';
import { judgeKubelet } from './judge.js';
import { runKubeletBenchmark } from './kubelet-benchmark.js';
import { formatKubeletReport } from './kubelet-report.js';

/** Beside the Go kubelet. */
export const KUBELET: Scenario = {
  name: 'kubelet',
  title: 'Beside the kubelet',
  about: 'podloop and the Go kubelet on the same containerd, one after the other in turns',
  runtimes: 'containerd 1.7',
  needs: ['root', 'containerd', 'kubelet'],
  fullMinutes: 150,
  settings: [
    { name: 'turns', placeholder: 'N', about: 'rounds, in which each has its turn', short: '1', full: '3' },
    {
      name: 'singles',
      placeholder: 'N',
      about: 'pods started and killed one at a time',
      short: '5',
      full: '15',
    },
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
      name: 'hung-wait',
      placeholder: 'SECONDS',
      about: 'for ends while calls hang',
      short: '20',
      full: '330',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runKubeletBenchmark({
      kubelet: process.env['KUBELET']!,
      rounds: toCount(setting('turns')),
      singles: toCount(setting('singles')),
      mass: toCount(setting('mass')),
      exited: toCount(setting('exited')),
      idleMs: toCount(setting('idle-for')) * 1_000,
      hungWaitMs: toCount(setting('hung-wait')) * 1_000,
      ...{ progress, signal },
    });
    const goals: Goal[] = judgeKubelet(figures);
    return { figures, text: formatKubeletReport(figures), goals };
  },
};
