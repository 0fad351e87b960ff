import { formatPod } from '#kube/pod/pod-ref.js';
import { type Finding } from '../finding.js';
import { type DiskFacts, type SilentDisk } from '../facts/machine-facts.js';
import { type FailedFileSystem } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { formatBytes, formatMs, formatPercent, nameSome } from './words.js';

/** Whether the file systems that a node and its pods need can be written to and have room. */
export const diskRules: Rule = ({ machine }) => {
  const { silentDisks, disks } = machine;
  const closed = disks.filter(({ isReadOnly, mustBeWritten }) => isReadOnly && mustBeWritten);
  const failed = valueOf(machine.failedFileSystems) ?? [];
  return [
    ...silentDisks.map(toDiskHangs),
    ...failed.map((each) => toFailed(each, closed)),
    ...closed.filter(({ device }) => !failed.some((each) => each.device === device)).map(toReadOnly),
    // An image of a system that nothing is written to is full from the start.
    ...disks
      .filter(({ isReadOnly }) => !isReadOnly)
      .flatMap((disk) => [...findFull(disk), ...findWithoutInodes(disk)]),
  ];
};

function toDiskHangs({ path, purpose, forMs }: SilentDisk): Finding {
  return {
    ...{ code: 'DiskHangs', severity: 'critical' },
    message: `the disk of ${path} (${purpose}) does not answer`,
    evidence: [`no answer to a question for its room within ${formatMs(forMs)}`],
    remedy:
      'Whoever touches it hangs, too. See dmesg and smartctl, and, where it is a server’s, whether that is there; umount -f or -l releases who waits, and each call of the pods that have it fails then.',
  };
}

function toReadOnly({ path, purpose }: DiskFacts): Finding {
  return {
    ...{ code: 'DiskReadOnly', severity: 'critical' },
    message: `nothing can be written to the disk of ${path} (${purpose}): no pod starts, and those that run cannot write`,
    evidence: [`${path} is mounted read-only`],
    remedy: `See why: dmesg has it when the kernel did that after an error (EXT4-fs error, I/O error), /etc/fstab when somebody did. After an error drain the node and check the disk unmounted (fsck), which interrupts all its pods; else mount -o remount,rw interrupts nothing.`,
  };
}

const MAX_PODS = 10;

function toFailed(
  { path, device, fsType, source, pods }: FailedFileSystem,
  closed: readonly DiskFacts[],
): Finding {
  const purposes = closed.filter((disk) => disk.device === device).map(({ purpose }) => purpose);
  // Nearly all pods have something on a disk of the node: it is the node's then.
  const isOfPods = purposes.length === 0 && pods.length > 0;
  const names = isOfPods ? pods.map(formatPod) : [];
  const whose = names.length === 0 ? '' : ` of ${nameSome(names.slice(0, MAX_PODS), names.length)}`;
  const what = purposes.length === 0 ? '' : ` (${purposes.join(', ')})`;
  return {
    ...{ code: 'DiskReadOnly', severity: purposes.length + pods.length > 0 ? 'critical' : 'warning' },
    ...(isOfPods ? { pod: pods[0]!, pods } : {}),
    message: `the kernel has made ${path}${what}${whose} read-only after an error: nothing can be written there`,
    evidence: [`${path}: ${fsType} on ${source}, read-only although it was mounted for writing`],
    remedy: `See the error (dmesg) and what the disk says of itself (smartctl -a ${source}). ${isOfPods ? 'Stop the pods that are named, or drain the node, which interrupts all its pods' : 'Drain the node, which interrupts all its pods'}, then check it unmounted (fsck, xfs_repair) or replace it; to mount it again for writing before that may lose more.`,
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
      remedy: holdsImages
        ? 'Remove images that nobody uses (crictl rmi --prune), old logs and dead containers; see du -xh.'
        : `See what has grown: du -xh ${path} | sort -h. Old logs, dead containers and images that nobody uses may go; on /run look for logs of shims and for files that pods keep in memory.`,
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
