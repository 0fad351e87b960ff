import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type Finding } from '../finding.js';
import { type ContainerOwner } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { type MachineFacts, type ProcessFacts } from '../facts/machine-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { describeOwner } from './shim-rules.js';
import { count, formatPercent, nameSome } from './words.js';

/** Programs that hold up a runtime as soon as one of them is blocked. */
const OF_THE_RUNTIME = /^(containerd|runc|crun|crio|conmon|umount|mount)/;

/** What the table of processes shows. */
export const processRules: Rule = ({ machine }) => {
  const processes = valueOf(machine.processes);
  const ofAll = processes === undefined ? [] : judge(processes);
  return [...ofAll, ...judgeAbandoned(machine), ...judgeShims(machine)];
};

function judge(processes: ProcessFacts): Finding[] {
  return [...findBlocked(processes), ...findZombies(processes), ...findNoPids(processes)];
}

function findBlocked({ blocked, blockedCount }: ProcessFacts): Finding[] {
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
      ...{ code: 'TasksBlocked', severity: 'warning' },
      ...(pods.length === 0 ? {} : { pod: pods[0]!, pods }),
      message: `${count(blockedCount, 'task')} hang in the kernel: ${nameSome(names, blockedCount)}`,
      evidence: blocked.map(
        (task) =>
          `pid ${task.pid}${task.thread === undefined ? '' : ` thread ${task.thread}`} ${task.command}${ofOwner(task)}: state D, and it has not run between two scans${task.waitsIn === '' || task.waitsIn === '0' ? '' : `, in ${task.waitsIn}`}`,
      ),
      remedy:
        'They wait for a disk or for a server whose files are mounted: cat /proc/PID/stack, dmesg, mount -t nfs. A dead mount is released with umount -f or -l.',
    },
  ];
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
      ...{ code: 'Zombies', severity: 'warning' },
      ...(pod === undefined ? {} : { pod }),
      ...(container === undefined ? {} : { container }),
      message: `${zombies} processes are dead and nobody collects them: ${nameSome(names)}`,
      evidence: [`${zombies} in state Z`, ...names],
      remedy:
        'Restarting the parents that are named, each with its container, clears them; for good, let an init collect them (shareProcessNamespace, tini).',
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

function judgeAbandoned(machine: MachineFacts): Finding[] {
  const abandoned = valueOf(machine.abandonedShims);
  if (abandoned === undefined || abandoned.count === 0) return [];
  const names = abandoned.shims.map(({ pid }) => String(pid));
  return [
    {
      ...{ code: 'ShimsAbandoned', severity: 'warning' },
      message: `${count(abandoned.count, 'shim')} run without the containerd that they belong to: pid ${nameSome(names, abandoned.count)}`,
      evidence: [
        ...abandoned.addresses.map((address) => `nobody listens at ${address}`),
        ...abandoned.shims.map(
          ({ pid, command, sandboxId }) => `pid ${pid} ${command}, sandbox ${sandboxId}`,
        ),
      ],
      remedy:
        'Their pods go on, and nobody sees them or can stop them. Start that containerd again; if it is gone for good, end the shims’ children, then the shims.',
    },
  ];
}

function judgeShims(machine: MachineFacts): Finding[] {
  const shims = valueOf(machine.shims);
  if (shims === undefined) return [];
  const { orphans, orphanCount, gone, goneCount } = shims;
  const findings: Finding[] = [];
  if (orphanCount > 0) {
    const names = orphans.map(({ pid, sandboxId }) => `${pid} (of ${sandboxId.slice(0, 13)})`);
    findings.push({
      ...{ code: 'OrphanShims', severity: 'warning', call: 'ListPodSandbox' },
      message: `${count(orphanCount, 'shim')} run for pods that the runtime does not know: pid ${nameSome(names, orphanCount)}`,
      evidence: orphans.map(({ pid, command, sandboxId }) => `pid ${pid} ${command}, sandbox ${sandboxId}`),
      remedy:
        'Their containers still run and hold ports and volumes, and nobody sees them. End them: kill the shim’s children, then the shim.',
    });
  }
  if (goneCount > 0) {
    findings.push({
      ...{ code: 'ShimsGone', severity: 'warning', call: 'PodSandboxStatus' },
      message: `${count(goneCount, 'pod')} listed as ready without a shim that runs: ${nameSome(
        gone.map(({ pod }) => pod),
        goneCount,
      )}`,
      evidence: gone.map(({ pod, sandboxId }) => `${pod}: sandbox ${sandboxId}`),
      remedy:
        'The runtime believes in pods that are dead, and calls about them may hang. Remove them: crictl rmp -f; if that hangs, restart the runtime.',
    });
  }
  return findings;
}
