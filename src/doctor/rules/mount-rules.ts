import { formatPod } from '#kube/pod/pod-ref.js';
import { type Finding } from '../finding.js';
import { type DeadMount } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { type Rule } from './rule.js';
import { describeOwner } from './shim-rules.js';
import { describeStandstill, formatMs, nameSome, sinceOf } from './words.js';

const MAX_PODS = 10;

/** Mounts whose server does not answer: whoever touches them hangs. */
export const mountRules: Rule = ({ atMs, machine }) =>
  (valueOf(machine.deadMounts) ?? []).map((mount) => toFinding(mount, atMs));

function toFinding(mount: DeadMount, atMs: number): Finding {
  const { path, fsType, source, silentForMs, code = '', pods, servers } = mount;
  const names = pods.map(formatPod);
  const stopped = servers.find(({ isStopped }) => isStopped);
  const [only] = servers.length === 1 ? servers : [];
  const server = stopped ?? only;
  const whose = names.length === 0 ? '' : ` of ${nameSome(names.slice(0, MAX_PODS), names.length)}`;
  return {
    ...{ code: 'MountHangs', severity: pods.length > 0 ? 'critical' : 'warning' },
    ...(pods.length > 0 ? { pod: pods[0]!, pods } : {}),
    ...(server === undefined ? {} : { process: { pid: server.pid, command: server.command } }),
    ...sinceOf(atMs, stopped),
    message: `the server of the mount ${path} (${fsType})${whose} ${silentForMs === undefined ? `is gone: each call fails with ${code}` : 'does not answer: each call hangs'}`,
    evidence: [
      silentForMs === undefined
        ? `statfs of ${path}: ${code}`
        : `statfs of ${path}: no answer within ${formatMs(silentForMs)}`,
      ...(source === '' ? [] : [`mounted from ${source}`]),
      ...servers.map(
        (each) =>
          `pid ${each.pid} ${each.command}${each.pod === undefined ? '' : ` of ${describeOwner(each)}`} has /dev/fuse open${each.isStopped ? ', and is stopped (state T)' : ''}${describeStandstill(each)}`,
      ),
    ],
    remedy: remedyOf(mount, stopped?.pid),
  };
}

function remedyOf({ path, fsType, silentForMs, source }: DeadMount, stopped: number | undefined): string {
  const release = `umount -f ${path} lets go who waits there, with errors, and umount -l takes it away: its pods have to be restarted after that`;
  if (stopped !== undefined)
    return `Let its server go on: kill -CONT ${stopped}, which interrupts nothing. Else ${release}.`;
  if (fsType.startsWith('fuse')) {
    return silentForMs === undefined
      ? `Its server has ended: see the log of the volume’s driver (CSI) or program for why. ${release[0]!.toUpperCase()}${release.slice(1)}.`
      : `See what its server does (its log, cat /proc/PID/stack). If it does not come back, ${release}.`;
  }
  return `See whether the server ${source.split(':')[0]} is up and can be reached (ping, rpcinfo, showmount), and dmesg. Calls go on by themselves once it answers. If it does not come back, ${release}.`;
}
