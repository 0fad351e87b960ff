import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type Finding, podsOf } from '../finding.js';
import { type ContainerOwner, type NamedProcess } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { type MachineFacts, type NamedShim, type ProcessFacts } from '../facts/machine-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { describeOwner } from './shim-rules.js';
import { count, describeStandstill, formatPercent, longestOf, nameSome, sinceOf } from './words.js';

/** Programs that hold up a runtime as soon as one of them is blocked. */
const OF_THE_RUNTIME = /^(containerd|runc|crun|crio|conmon|umount|mount)/;

/** What the table of processes shows. */
export const processRules: Rule = ({ atMs, machine }) => {
  const processes = valueOf(machine.processes);
  const ofAll = processes === undefined ? [] : judge(processes, atMs);
  return [...ofAll, ...judgeInotify(machine), ...judgeAbandoned(machine), ...judgeShims(machine)];
};

function judge(processes: ProcessFacts, atMs: number): Finding[] {
  return [...findBlocked(processes, atMs), ...findZombies(processes), ...findNoPids(processes)];
}

function findBlocked({ blocked, blockedCount }: ProcessFacts, atMs: number): Finding[] {
  const isOfRuntime = blocked.some(({ command }) => OF_THE_RUNTIME.test(command));
  const pods = [
    ...new Map(
      blocked.flatMap(({ pod }): [string, PodRef][] => (pod === undefined ? [] : [[formatPod(pod), pod]])),
    ).values(),
  ];
  if (blockedCount < LIMITS.blockedTasks && !isOfRuntime && pods.length === 0) return [];
  const names = blocked.map((task) => `${task.command} (${task.thread ?? task.pid}${ofOwner(task)})`);
  return [
    {
      ...{ code: 'TasksBlocked', severity: 'warning', ...firstOf(blocked) },
      ...(pods.length === 0 ? {} : { pod: pods[0]!, pods }),
      ...sinceOf(atMs, longestOf(blocked)),
      message: `${count(blockedCount, 'task')} ${blockedCount === 1 ? 'hangs' : 'hang'} in the kernel: ${nameSome(names, blockedCount)}`,
      evidence: blocked.map(
        (task) =>
          `pid ${task.pid}${task.thread === undefined ? '' : ` thread ${task.thread}`} ${task.command}${ofOwner(task)}: state D${describeStandstill(task) || ', and it has not run between two scans'}${task.waitsIn === '' || task.waitsIn === '0' ? '' : `, in ${task.waitsIn}`}`,
      ),
      remedy:
        'They wait for a disk or for a server whose files are mounted: cat /proc/PID/stack, dmesg, mount -t nfs. A dead mount is released with umount -f or -l, which fails the calls of the pods that have it.',
    },
  ];
}

function firstOf([first]: readonly NamedProcess[]): Pick<Finding, 'process'> {
  return first === undefined ? {} : { process: { pid: first.pid, command: first.command } };
}

/** ` of container app of pod default/web`; empty for a process of the machine. */
function ofOwner(owner: ContainerOwner): string {
  return owner.pod === undefined ? '' : ` of ${describeOwner(owner)}`;
}

function findZombies({ zombies, zombieParents }: ProcessFacts): Finding[] {
  if (zombies < LIMITS.zombies) return [];
  const names = zombieParents.map(
    (parent) => `${parent.zombies} of ${parent.command} (${parent.pid}${ofOwner(parent)})`,
  );
  const { pod, container } = zombieParents[0] ?? {};
  return [
    {
      ...{ code: 'Zombies', severity: 'warning', ...firstOf(zombieParents) },
      ...(pod === undefined ? {} : { pod }),
      ...(container === undefined ? {} : { container }),
      message: `${zombies} processes are dead and nobody collects them: ${nameSome(names)}`,
      evidence: [`${zombies} in state Z`, ...names],
      remedy:
        'Restarting the parents that are named clears them, and interrupts the container of each; for good, let an init collect them (shareProcessNamespace, tini).',
    },
  ];
}

function findNoPids({ processes, threads, pidMax, threadsMax }: ProcessFacts): Finding[] {
  const most = Math.min(...[pidMax, threadsMax].filter((limit) => limit > 0));
  const share = threads / most;
  if (!Number.isFinite(most) || share < LIMITS.pidsUsedShare) return [];
  return [
    {
      ...{ code: 'PidsUsedUp', severity: share >= LIMITS.pidsGoneShare ? 'critical' : 'warning' },
      message: `${formatPercent(share)} of all process ids are in use: soon nothing can be started any more`,
      evidence: [
        `${threads} threads of ${processes} processes; kernel.pid_max ${pidMax}, kernel.threads-max ${threadsMax}`,
      ],
      remedy:
        'Find who has them (ps -eo nlwp,pid,comm --sort -nlwp), and hold pods to a limit (--pod-max-pids).',
    },
  ];
}

function judgeInotify(machine: MachineFacts): Finding[] {
  const inotify = valueOf(machine.inotify);
  if (inotify?.usedUp === undefined) return [];
  const { usedUp, holders = [] } = inotify;
  const limit = inotify[usedUp];
  const name = `fs.inotify.max_user_${usedUp}`;
  return [
    {
      ...{ code: 'InotifyUsedUp', severity: 'warning', ...firstOf(holders) },
      message: `root can watch no further file, as all ${limit} ${usedUp} of inotify are in use: a runtime that starts cannot watch its network’s configuration, and kubectl logs -f ends`,
      evidence: [
        `one more watch was refused; ${name} is ${limit}`,
        ...holders.map(
          (holder) =>
            `pid ${holder.pid} ${holder.command}${ofOwner(holder)} has ${count(holder.instances, 'instance')}`,
        ),
      ],
      remedy: `Raise the limit, which interrupts nothing: sysctl -w ${name}=${Math.max(1_024, limit * 8)}, and for good in /etc/sysctl.d.${holders.length > 0 ? '' : ' See who has them: find /proc/[0-9]*/fd -lname anon_inode:inotify.'}`,
    },
  ];
}

function judgeAbandoned(machine: MachineFacts): Finding[] {
  const abandoned = valueOf(machine.abandonedShims);
  if (abandoned === undefined || abandoned.count === 0) return [];
  const names = abandoned.shims.map((shim) => `${shim.pid}${ofPod(shim)}`);
  return [
    {
      ...{ code: 'ShimsAbandoned', severity: 'warning', ...podsOf(abandoned.shims) },
      message: `${count(abandoned.count, 'shim')} ${abandoned.count === 1 ? 'runs without the containerd that it belongs to' : 'run without the containerd that they belong to'}: pid ${nameSome(names, abandoned.count)}`,
      evidence: [
        ...abandoned.addresses.map((address) => `nobody listens at ${address}`),
        ...abandoned.shims.map(describeShim),
      ],
      ids: abandoned.shims.map(({ pid, sandboxId }) => `pid ${pid}: sandbox ${sandboxId}`),
      remedy:
        'Their pods go on, and nobody sees them or can stop them. Start that containerd again, which interrupts nothing. If it is gone for good, end the shims’ children, then the shims: that ends these pods.',
    },
  ];
}

/** ` (pod default/web)`; empty where nobody knows. */
function ofPod({ pod }: NamedShim): string {
  return pod === undefined ? '' : ` (pod ${formatPod(pod)})`;
}

function describeShim(shim: NamedShim): string {
  return `pid ${shim.pid} ${shim.command}${ofPod(shim)}`;
}

function judgeShims(machine: MachineFacts): Finding[] {
  const shims = valueOf(machine.shims);
  if (shims === undefined) return [];
  const { orphans, orphanCount, gone, goneCount } = shims;
  const findings: Finding[] = [];
  if (orphanCount > 0) {
    const names = orphans.map((shim) => `${shim.pid}${ofPod(shim)}`);
    const [{ pid, command }] = orphans as [NamedShim];
    findings.push({
      ...{ code: 'OrphanShims', severity: 'warning', call: 'ListPodSandbox', process: { pid, command } },
      ...podsOf(orphans),
      message: `${count(orphanCount, 'shim')} ${orphanCount === 1 ? 'runs for a pod' : 'run for pods'} that the runtime does not know: pid ${nameSome(names, orphanCount)}`,
      evidence: orphans.map(describeShim),
      ids: orphans.map((shim) => `pid ${shim.pid}: sandbox ${shim.sandboxId}`),
      remedy:
        'Their containers still run and hold ports and volumes, and nobody sees them. See that nobody needs them; then kill the shim’s children, then the shim, which ends these containers and no others.',
    });
  }
  if (goneCount > 0) {
    findings.push({
      ...{ code: 'ShimsGone', severity: 'warning', call: 'PodSandboxStatus', ...podsOf(gone) },
      message: `${count(goneCount, 'pod')} listed as ready without a shim that runs: ${nameSome(
        gone.map(({ pod }) => formatPod(pod)),
        goneCount,
      )}`,
      evidence: gone.map(({ pod }) => `${formatPod(pod)}: Ready in both lists, and no process is its shim`),
      ids: gone.map(({ pod, sandboxId }) => `${formatPod(pod)}: sandbox ${sandboxId}`),
      remedy:
        'The runtime believes in pods that are dead, and calls about them may hang. Remove them: crictl rmp -f, after which the kubelet makes them again and which interrupts no other; if that hangs, restart the runtime, over which the others go on.',
    });
  }
  return findings;
}
