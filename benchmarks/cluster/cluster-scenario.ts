import { type Scenario, toCount } from '../scenario.js';
import { KUBELET_RELEASE } from '../kubelet/bench-node.js';
import { runClusterBenchmark } from './cluster-benchmark.js';
import { formatClusterReport, plotCluster } from './cluster-report.js';
import { judgeCluster } from './judge-cluster.js';

/** Beside the Go kubelet, as a node of a cluster. */
export const CLUSTER: Scenario = {
  name: 'cluster',
  title: 'Beside the kubelet in a cluster',
  about: 'podloop and the Go kubelet as nodes of a real control plane, one after the other in turns',
  runtimes: `containerd ${KUBELET_RELEASE}`,
  needs: ['root', 'build', 'containerd', 'kubelet', 'control plane'],
  fullMinutes: 75,
  joinsCluster: true,
  releases: () => [KUBELET_RELEASE],
  settings: [
    {
      name: 'turns',
      placeholder: 'N',
      about: 'turns in which pods come and go one at a time',
      short: '2',
      full: '30',
    },
    { name: 'singles', placeholder: 'N', about: 'such pods in each turn', short: '3' },
    {
      name: 'deployment-turns',
      placeholder: 'N',
      about: 'turns in which a Deployment comes and goes',
      short: '1',
      full: '7',
    },
    { name: 'replicas', placeholder: 'N', about: 'of the Deployment', short: '20', full: '60' },
  ],
  run: async ({ setting, parts, progress, signal }) => {
    const figures = await runClusterBenchmark({
      kubelet: process.env['KUBELET']!,
      turns: toCount(setting('turns')),
      singles: toCount(setting('singles')),
      deploymentTurns: toCount(setting('deployment-turns')),
      replicas: toCount(setting('replicas')),
      ...{ parts, progress, signal },
    });
    return {
      ...{ figures, text: formatClusterReport(figures), goals: judgeCluster(figures) },
      plots: [plotCluster(figures)],
    };
  },
};
