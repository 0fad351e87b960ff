import { type Goal } from '../goals.js';
import { seconds, spreadMs } from '../kubelet/format-values.js';
import { type Comparison, judgeComparisons } from '../kubelet/judge.js';
import { type ClusterContenderFigures, type ClusterFindings } from './cluster-benchmark.js';

/** All that is a ratio, in the order of the page. */
export const CLUSTER_COMPARISONS: readonly Comparison<ClusterFindings>[] = [
  {
    ...{ what: 'one pod, created to Ready', limit: 0.6, words: '<= 0.6 x' },
    format: spreadMs,
    values: ({ singles = [] }) => singles.map(({ readyMs }) => readyMs),
  },
  {
    ...{ what: 'a Deployment, created to all Ready', limit: 1, words: 'not slower' },
    format: seconds,
    values: ({ deployment }) => (deployment === undefined ? [] : [deployment.readyMs]),
  },
  {
    ...{ what: 'it, deleted to the last pod gone', limit: 1, words: 'not slower' },
    format: seconds,
    values: ({ deployment }) => (deployment === undefined ? [] : [deployment.goneMs]),
  },
  {
    ...{ what: 'its whole life, own CPU', limit: 1, words: 'not more' },
    format: seconds,
    values: ({ deployment }) => (deployment === undefined ? [] : [deployment.cpuMs]),
  },
];

/** podloop against the better of the kubelet's two. */
export function judgeCluster(figures: readonly ClusterContenderFigures[]): Goal[] {
  const [podloop, ...kubelets] = figures;
  if (podloop === undefined || kubelets.length === 0) return [];
  const goals = judgeComparisons(podloop, kubelets, CLUSTER_COMPARISONS);
  const failures = podloop.rounds.reduce((sum, each) => sum + each.failures.length, 0);
  const what = 'rounds of podloop’s that failed';
  return [...goals, { what, goal: '0', measured: String(failures), met: failures === 0 }];
}
