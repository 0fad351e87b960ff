import { formatComparisons } from '../kubelet/format-comparisons.js';
import { formatFailures } from '../kubelet/format-values.js';
import { distributionOf, linePlot, type Plot } from '../plot.js';
import { median } from '../stats.js';
import { formatTable } from '../text-table.js';
import { type ClusterContenderFigures, type ClusterFindings } from './cluster-benchmark.js';
import { type DeploymentFigures } from './deployment.js';
import { CLUSTER_COMPARISONS } from './judge-cluster.js';
import { type SinglePodFigures } from './single-pods.js';

type Rounds = readonly ClusterFindings[];

/** The section of the results page. */
export function formatClusterReport(figures: readonly ClusterContenderFigures[]): string {
  const names = figures.map(({ name }) => name);
  const counts = figures.map(({ name, rounds }) => {
    const singles = rounds.flatMap((each) => each.singles ?? []).length;
    const turns = rounds.filter((each) => each.singles !== undefined).length;
    const deployments = rounds.filter((each) => each.deployment !== undefined).length;
    return `${name}: ${singles} pods in ${turns} rounds, ${deployments} Deployments`;
  });
  const replicas = figures.flatMap(({ rounds }) => replicasOf(rounds))[0];
  return `podloop in its default mode, and a kubelet with its generator that only relists and with events on, each the one node of the same control
plane, on a containerd of its own, in turns. Pods have one container on the host's network and the volume of their service account; the
Deployment has ${replicas ?? 'no'} replicas, which do not heed SIGTERM and have 2 s for their end. All times are those of a client that watches the pods, the
control plane's own part among them. Milliseconds are p50 / p99 / longest of all pods;
seconds are medians of the rounds. The ratio is podloop's to the better of the kubelet's two, of the medians of rounds, of which each is
the median of its pods. CPU and memory are those of the agent with all that it has started, such as tools that mount. ${counts.join('; ')}.

${formatComparisons(figures, CLUSTER_COMPARISONS)}

Of what that is made, medians of all:

${formatTable(
  ['what', ...names],
  BESIDES.map(([what, of]) => [what, ...figures.map(({ rounds }) => of(rounds))]),
)}
${formatFailures(figures)}`;
}

/** Of all pods that came one at a time. */
export function plotCluster(figures: readonly ClusterContenderFigures[]): Plot {
  return {
    name: 'cluster',
    alt: 'Share of pods that were Ready after so many milliseconds',
    svg: linePlot({
      title: 'From the creation of a pod until the API server tells that it is Ready',
      x: { label: 'ms' },
      y: { label: 'share of pods' },
      series: figures.map(({ name, rounds }) =>
        distributionOf(
          name,
          rounds.flatMap(({ singles = [] }) => singles.map(({ readyMs }) => readyMs)),
        ),
      ),
      steps: true,
    }),
  };
}

const BESIDES: readonly [what: string, of: (rounds: Rounds) => string][] = [
  ['one pod: created until it has a node, ms', ofSingles(({ scheduledMs }) => scheduledMs)],
  [
    'one pod: has a node until its container runs, ms',
    ofSingles(({ scheduledMs, startedMs }) => startedMs - scheduledMs),
  ],
  [
    'one pod: its container runs until it is told to be Ready, ms',
    ofSingles(({ startedMs, readyMs }) => readyMs - startedMs),
  ],
  ['one pod: deleted, with a grace of 1 s, until it is gone, ms', ofSingles(({ goneMs }) => goneMs)],
  ['Deployment: own CPU until all are Ready, s', ofDeployments(({ readyCpuMs }) => readyCpuMs / 1_000, 2)],
  [
    'Deployment: own CPU of its end, s',
    ofDeployments(({ cpuMs, readyCpuMs }) => (cpuMs - readyCpuMs) / 1_000, 2),
  ],
  ['resident memory, all Ready, MiB', ofDeployments(({ rssMiB }) => rssMiB, 0)],
];

function ofSingles(value: (pod: SinglePodFigures) => number): (rounds: Rounds) => string {
  return (rounds) =>
    middle(
      rounds.flatMap(({ singles = [] }) => singles.map(value)),
      0,
    );
}

function ofDeployments(
  value: (deployment: DeploymentFigures) => number,
  digits: number,
): (rounds: Rounds) => string {
  return (rounds) => middle(rounds.flatMap(({ deployment }) => deployment ?? []).map(value), digits);
}

function middle(values: readonly number[], digits: number): string {
  return values.length === 0 ? 'none' : median(values).toFixed(digits);
}

function replicasOf(rounds: Rounds): number[] {
  return rounds.flatMap(({ deployment }) => deployment?.replicas ?? []);
}
