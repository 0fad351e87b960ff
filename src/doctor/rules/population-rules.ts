import { formatPod } from '#kube/pod/pod-ref.js';
import { type Finding } from '../finding.js';
import { valueOf } from '../looked.js';
import { type PopulationFacts, type RuntimeFacts } from '../facts/runtime-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { findRuntimeSlowness, judgeSeries } from './slowness.js';
import { count, formatMs, nameSome } from './words.js';

/** Findings about what is on the node: too much of it, or recreated again and again. */
export const populationRules: Rule = ({ runtime }) => {
  const population = valueOf(runtime.population);
  if (population === undefined) return [];
  return [...findTooMany(runtime, population), ...findDead(population), ...findStorms(population)];
};

function findTooMany(runtime: RuntimeFacts, population: PopulationFacts): Finding[] {
  const inspections = valueOf(runtime.inspections);
  if (inspections === undefined || !judgeSeries(runtime).isLong) return [];
  // A runtime that is slow already with one call is what is wrong, and says so itself.
  if (findRuntimeSlowness(runtime) !== undefined) return [];
  const { medianMs, inSeriesMs, slowest } = inspections;
  const { pods, containers, sandboxes } = population;
  const isCritical = judgeSeries(runtime).isTooLong;
  return [
    {
      ...{
        code: 'TooManyContainers',
        severity: isCritical ? 'critical' : 'warning',
        call: 'ContainerStatus',
      },
      message: `${count(pods, 'pod')} with ${count(containers, 'container')} are too many for this runtime: to ask for all of them one by one, as a kubelet does after it starts, takes ${formatMs(inSeriesMs)}${isCritical ? ', longer than its threshold of 3m0s' : ''}`,
      evidence: [
        `${sandboxes + containers} status calls, ${formatMs(medianMs)} each (median)`,
        ...slowest
          .slice(0, 3)
          .map(({ pod, ms, calls }) => `${formatPod(pod)}: ${formatMs(ms)} in ${count(calls, 'call')}`),
      ],
      remedy:
        'Lower --max-pods, remove dead containers, or give the runtime a faster disk and more CPU. podloop inspects pods beside one another and is not held up so long.',
    },
  ];
}

function findDead({
  containersByState,
  sandboxesNotReady,
  containers,
  sandboxes,
}: PopulationFacts): Finding[] {
  const findings: Finding[] = [];
  const exited = containersByState['exited'] ?? 0;
  if (exited >= LIMITS.deadContainers) {
    findings.push({
      ...{ code: 'DeadContainers', severity: 'warning', call: 'ListContainers' },
      message: `${exited} dead containers have not been removed, and every list carries them`,
      evidence: [`${exited} of ${containers} containers have exited`],
      remedy:
        'See that the kubelet collects them (maximum-dead-containers-per-container, --minimum-container-ttl-duration); meanwhile crictl rm those of pods that are gone, which interrupts nothing.',
    });
  }
  if (sandboxesNotReady >= LIMITS.deadSandboxes) {
    findings.push({
      ...{ code: 'DeadSandboxes', severity: 'warning', call: 'ListPodSandbox' },
      message: `${sandboxesNotReady} sandboxes that are not ready have not been removed`,
      evidence: [`${sandboxesNotReady} of ${sandboxes} sandboxes are NotReady`],
      remedy:
        'Remove them, which interrupts no pod that runs: crictl rmp of what crictl pods --state NotReady -q lists; and see why nobody does.',
    });
  }
  return findings;
}

function findStorms({ sandboxStorms, crashLoops, crashLoopCount }: PopulationFacts): Finding[] {
  const findings: Finding[] = [];
  const [worst] = sandboxStorms;
  if (worst !== undefined) {
    const names = sandboxStorms.map(({ pod }) => formatPod(pod));
    findings.push({
      ...{ code: 'SandboxStorm', severity: 'warning', pod: worst.pod, call: 'RunPodSandbox' },
      message: `the sandbox of ${nameSome(names)} is made again and again`,
      evidence: sandboxStorms.map(
        ({ pod, attempt, made }) =>
          `${formatPod(pod)}: attempt ${attempt}; ${made} sandboxes were made within ten minutes`,
      ),
      remedy:
        'Usually its network cannot be set up, or its pause process is killed: kubectl describe pod, and the runtime’s log.',
    });
  }
  if (crashLoopCount >= LIMITS.crashLoopPods) {
    findings.push({
      ...{ code: 'CrashLoops', severity: 'warning', pod: crashLoops[0]!.pod },
      message: `${count(crashLoopCount, 'container')} are started again and again, each time with a status call or two`,
      evidence: crashLoops.map(
        ({ pod, container, attempt }) => `${formatPod(pod)}: container ${container}, attempt ${attempt}`,
      ),
      remedy: 'See why they end: kubectl logs --previous, kubectl describe pod.',
    });
  }
  return findings;
}
