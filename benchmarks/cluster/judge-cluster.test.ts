import { expect, it } from 'vitest';
import { type ClusterContenderFigures, type ClusterFindings } from './cluster-benchmark.js';
import { formatClusterReport, plotCluster } from './cluster-report.js';
import { judgeCluster } from './judge-cluster.js';

const contender = (
  name: string,
  ...rounds: readonly Partial<ClusterFindings>[]
): ClusterContenderFigures => ({
  name,
  // Each three times: fewer are not judged.
  rounds: [...rounds, ...rounds, ...rounds].map((each) => ({ failures: [], ...each })),
});
const singles = (...readyMs: number[]): Partial<ClusterFindings> => ({
  singles: readyMs.map((ms) => ({ scheduledMs: 10, startedMs: ms - 20, readyMs: ms, goneMs: 1_500 })),
});
const deployment = (readyMs: number, cpuMs: number): Partial<ClusterFindings> => ({
  deployment: { replicas: 60, readyMs, goneMs: 8_000, cpuMs, readyCpuMs: cpuMs / 2, rssMiB: 100 },
});
const met = (figures: readonly ClusterContenderFigures[], what: string): boolean | undefined =>
  judgeCluster(figures).find((each) => each.what === what)!.met;
const ONE_POD = 'one pod, created to Ready';

it('holds the rounds of podloop against those of the better kubelet, each by the median of its pods', () => {
  const kubelets = [contender('slow', singles(900)), contender('fast', singles(400, 500, 10_000))];
  expect(met([contender('podloop', singles(10, 300, 300)), ...kubelets], ONE_POD)).toBe(true);
  expect(met([contender('podloop', singles(310, 310)), ...kubelets], ONE_POD)).toBe(false);
});

it('judges by the worse end of the interval', () => {
  const kubelet = contender('kubelet', ...Array.from({ length: 30 }, () => singles(500)));
  const own = (rare: number): ClusterContenderFigures =>
    contender('podloop', ...Array.from({ length: 30 }, (_, at) => singles(at < rare ? 900 : 200)));
  expect(met([own(2), kubelet], ONE_POD)).toBe(true);
  expect(met([own(14), kubelet], ONE_POD)).toBe(false);
});

it('judges no time that was not measured, and counts rounds that failed', () => {
  const figures = [
    contender('podloop', deployment(5_000, 1_000), { failures: [{ phase: 'node', why: 'it ended' }] }),
    contender('kubelet', deployment(6_000, 900), {}),
  ];
  expect(met(figures, ONE_POD)).toBeUndefined();
  expect(met(figures, 'a Deployment, created to all Ready')).toBe(true);
  expect(met(figures, 'its whole life, own CPU')).toBe(false);
  expect(met(figures, 'rounds of podloop’s that failed')).toBe(false);
  const report = formatClusterReport(figures);
  expect(report).toContain('- podloop, node: it ended');
  expect(report).toContain('the\nDeployment has 60 replicas');
});

it('draws the pods of each contender', () => {
  const { svg } = plotCluster([contender('podloop', singles(1, 2)), contender('kubelet', singles(3))]);
  expect(svg).toContain('podloop');
  expect(svg).toContain('kubelet');
});
