import { type ReportedCgroupProblem } from '#kube/node/pleg-report.js';
import { type Finding } from '../finding.js';
import { valueOf } from '../looked.js';
import { type Rule } from './rule.js';

/** What podloop's own agent says of the cgroups of its pods. */
export const cgroupRules: Rule = ({ agent }) => {
  const report = valueOf(agent)?.cgroups;
  if (report === undefined) return [];
  const { conflict, problems } = report;
  return [...judgeConflict(report.driver, conflict), ...judgeProblems(problems)];
};

function judgeConflict(driver: string, conflict: string | undefined): Finding[] {
  if (conflict === undefined) return [];
  return [
    {
      ...{ code: 'CgroupDriverConflict', severity: 'critical' },
      message: `podloop’s agent is configured with the cgroup driver ${driver}, but the runtime uses the other one: no new pod starts`,
      evidence: [conflict],
      remedy:
        'Start the agent without --cgroup-driver and without cgroupDriver in its KubeletConfiguration, so that it takes the runtime’s; or configure the runtime as the evidence says, and restart it. Pods go on over both.',
    },
  ];
}

function judgeProblems(problems: readonly ReportedCgroupProblem[]): Finding[] {
  if (problems.length === 0) return [];
  const names = problems.map(({ what }) => what).join(', ');
  const isForAll = problems.some(({ what }) => what === 'groups');
  return [
    {
      code: 'CgroupControllersMissing',
      severity: problems.some(({ isNeeded }) => isNeeded) ? 'warning' : 'info',
      message: isForAll
        ? 'podloop’s agent can make no cgroups for its pods'
        : `pods of podloop’s agent go without controllers of cgroups: ${names}`,
      evidence: problems.map(({ error }) => error),
      remedy: [...new Set(problems.map(({ remedy }) => remedy))].join(' '),
    },
  ];
}
