import { type Finding } from '../finding.js';
import { type DiskFacts, type SilentDisk } from '../facts/machine-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { formatBytes, formatMs, formatPercent } from './words.js';

/** Whether the file systems that a node needs have room. */
export const diskRules: Rule = ({ machine }) => [
  ...machine.silentDisks.map(toDiskHangs),
  ...machine.disks.filter(mustBeWritten).map(toReadOnly),
  // An image of a system that nothing is written to is full from the start.
  ...machine.disks
    .filter(({ isReadOnly }) => !isReadOnly)
    .flatMap((disk) => [...findFull(disk), ...findWithoutInodes(disk)]),
];

function toDiskHangs({ path, purpose, forMs }: SilentDisk): Finding {
  return {
    ...{ code: 'DiskHangs', severity: 'critical' },
    message: `the disk of ${path} (${purpose}) does not answer`,
    evidence: [`no answer to a question for its room within ${formatMs(forMs)}`],
    remedy:
      'Whoever touches it hangs, too. See dmesg and smartctl, and, where it is a server’s, whether that is there; umount -f or -l releases who waits.',
  };
}

/** Where containers, pods and their volumes are: no system is made with these read-only. */
function mustBeWritten({ isReadOnly, holdsImages, path }: DiskFacts): boolean {
  return isReadOnly && (holdsImages || ['/var/lib/kubelet', '/var/lib/podloop'].includes(path));
}

function toReadOnly({ path, purpose }: DiskFacts): Finding {
  return {
    ...{ code: 'DiskReadOnly', severity: 'critical' },
    message: `nothing can be written to the disk of ${path} (${purpose}): no pod starts, and those that run cannot write`,
    evidence: [`${path} is mounted read-only`],
    remedy: `See why: dmesg has it when the kernel did that after an error (EXT4-fs error, I/O error), /etc/fstab when somebody did. After an error drain the node and check the disk unmounted (fsck), which interrupts all its pods; else mount -o remount,rw interrupts nothing.`,
  };
}

function findFull({ path, purpose, holdsImages, totalBytes, availableBytes }: DiskFacts): Finding[] {
  if (totalBytes === 0) return [];
  const share = availableBytes / totalBytes;
  if (share >= (holdsImages ? LIMITS.imagesFreeShare : LIMITS.diskFreeShare)) return [];
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
