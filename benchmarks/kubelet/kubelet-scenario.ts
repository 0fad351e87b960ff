import { type Scenario, toCount } from '../scenario.js';
import { listOf, oneOf } from '../setting-shapes.js';
import { KUBELET_RELEASE } from './bench-node.js';
import { judgeKubelet } from './judge.js';
import { runKubeletBenchmark, STAGE_NAMES, type StageName } from './kubelet-benchmark.js';
import { formatKubeletReport } from './kubelet-report.js';

/** Beside the Go kubelet. */
export const KUBELET: Scenario = {
  name: 'kubelet',
  title: 'Beside the kubelet',
  about: 'podloop and the Go kubelet on the same containerd, one after the other in turns',
  runtimes: `containerd ${KUBELET_RELEASE}`,
  needs: ['root', 'build', 'containerd', 'kubelet'],
  fullMinutes: 112,
  releases: () => [KUBELET_RELEASE],
  settings: [
    {
      name: 'turns',
      placeholder: 'N',
      about: 'turns in which pods start and end one at a time',
      short: '1',
      full: '10',
    },
    { name: 'singles', placeholder: 'N', about: 'such pods in each turn', short: '5', full: '4' },
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
    {
      name: 'stages',
      takes: listOf(oneOf(STAGE_NAMES)),
      placeholder: 'NAME,NAME',
      about: `of ${STAGE_NAMES.join(', ')}: those to run`,
      short: STAGE_NAMES.join(','),
    },
  ],
  run: async ({ setting, parts, progress, signal }) => {
    const figures = await runKubeletBenchmark({
      kubelet: process.env['KUBELET']!,
      turns: toCount(setting('turns')),
      singles: toCount(setting('singles')),
      massTurns: toCount(setting('mass-turns')),
      base: toCount(setting('base')),
      mass: toCount(setting('mass')),
      exited: toCount(setting('exited')),
      settleMs: toCount(setting('settle-for')) * 1_000,
      idleMs: toCount(setting('idle-for')) * 1_000,
      hungWaitMs: toCount(setting('hung-wait')) * 1_000,
      hangMs: toCount(setting('hang-for')) * 1_000,
      stages: setting('stages').split(',').map(toStage),
      ...{ parts, progress, signal },
    });
    return { figures, text: formatKubeletReport(figures), goals: judgeKubelet(figures) };
  },
};

function toStage(text: string): StageName {
  const stage = STAGE_NAMES.find((name) => name === text);
  if (stage === undefined) throw new Error(`"${text}" is none of ${STAGE_NAMES.join(', ')}`);
  return stage;
}
