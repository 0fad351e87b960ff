import { type Finding } from '../finding.js';
import { type DiskFacts } from '../machine-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { formatBytes, formatPercent } from './words.js';

/** Whether the file systems that a node needs have room. */
export const diskRules: Rule = ({ machine }) =>
  machine.disks.flatMap((disk) => [...findFull(disk), ...findWithoutInodes(disk)]);

function findFull({ path, purpose, totalBytes, availableBytes }: DiskFacts): Finding[] {
  if (totalBytes === 0) return [];
  const share = availableBytes / totalBytes;
  if (share >= LIMITS.diskFreeShare) return [];
  return [
    {
      ...{ code: 'DiskFull', severity: share < LIMITS.diskLeftShare ? 'critical' : 'warning' },
      message: `the disk of ${path} (${purpose}) has ${formatPercent(share)} left`,
      evidence: [`${formatBytes(availableBytes)} of ${formatBytes(totalBytes)} are available`],
      remedy:
        'Remove images that nobody uses (crictl rmi --prune), old logs and dead containers; see du -xh.',
    },
  ];
}

function findWithoutInodes({ path, purpose, totalInodes, freeInodes }: DiskFacts): Finding[] {
  if (totalInodes === 0) return [];
  const share = freeInodes / totalInodes;
  if (share >= LIMITS.inodesFreeShare) return [];
  return [
    {
      ...{ code: 'InodesUsedUp', severity: share < LIMITS.inodesLeftShare ? 'critical' : 'warning' },
      message: `the disk of ${path} (${purpose}) has ${formatPercent(share)} of its inodes left`,
      evidence: [`${freeInodes} of ${totalInodes} inodes are free`],
      remedy: 'Find folders with very many files (du --inodes -x), and remove images that nobody uses.',
    },
  ];
}
