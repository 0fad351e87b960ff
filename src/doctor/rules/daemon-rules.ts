import { type FindingCode } from '../finding-codes.js';
import { type Finding } from '../finding.js';
import {
  type Daemon,
  type DaemonFacts,
  type NamedProcess,
  type Spent,
  type StoppedProcess,
} from '../host/host-facts.js';
import { standsStill } from '../host/process-state.js';
import { valueOf } from '../looked.js';
import { unitOf } from '../units.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import {
  count,
  formatBytes,
  formatMs,
  formatPercent,
  describeStandstill,
  describeStop,
  howToContinue,
  howToThaw,
  sinceOf,
} from './words.js';

/** The processes of the runtime and of the kubelet: stopped, or at the end of what they may use. */
export const daemonRules: Rule = ({ atMs, machine, kubelet, agent }) => {
  const daemons = valueOf(machine.daemons);
  if (daemons === undefined) return [];
  const { runtime, kubelet: ofKubelet, kubeletConfigured } = daemons;
  const isServed = kubelet.health.known || kubelet.metrics.known || agent.known;
  return [
    ...judgeStopped(daemons, atMs),
    ...[runtime, ofKubelet].flatMap((daemon) => (daemon === undefined ? [] : findSpent(daemon))),
    ...(kubeletConfigured === undefined || isServed ? [] : [toNotRunning(kubeletConfigured)]),
  ];
};

/** Of these daemons, those that are stopped by a signal or frozen with their cgroup. */
export function judgeStopped({ runtime, kubelet, stoppedInit = [] }: DaemonFacts, atMs: number): Finding[] {
  const silent = 'it takes connections and answers nothing';
  return [
    ...(runtime === undefined ? [] : findStopped(runtime, 'RuntimeStopped', silent, atMs)),
    ...(kubelet === undefined ? [] : findStopped(kubelet, 'KubeletStopped', silent, atMs)),
    ...stoppedInit.flatMap((process) =>
      findStopped(
        process,
        'SystemdHangs',
        'with the systemd cgroup driver no container starts or ends, as runc asks systemd for each group',
        atMs,
      ),
    ),
  ];
}

function findStopped(process: StoppedProcess, code: FindingCode, effect: string, atMs: number): Finding[] {
  const { pid, command, state, frozenCgroup } = process;
  const isFrozen = frozenCgroup !== undefined;
  if (!isFrozen && !standsStill(process)) return [];
  return [
    {
      ...{ code, severity: code === 'SystemdHangs' ? 'warning' : 'critical', process: { pid, command } },
      ...sinceOf(atMs, process),
      message: `${command} (pid ${pid}) ${isFrozen ? 'is frozen with its cgroup' : describeStop(process)}: ${effect}`,
      evidence: [
        `${isFrozen ? `${frozenCgroup} is frozen` : `pid ${pid} ${command}: state ${state}`}${describeStandstill(process)}`,
      ],
      remedy: isFrozen
        ? howToThaw(frozenCgroup)
        : `${howToContinue(process)}${process.tracer === undefined ? ' See who stopped it: a script, a shell’s job control.' : ''}`,
    },
  ];
}

function findSpent(daemon: Daemon): Finding[] {
  const { pid, command, openFiles, tasks, memory, cpuPeriods, refusedTasks = 0, oomKills = 0 } = daemon;
  const unit = daemon.unit ?? unitOf(command);
  const restart = `and restart ${unit}, over which pods go on`;
  const find = (
    spent: (Spent & { readonly cgroup?: string }) | undefined,
    rest: Pick<Finding, 'code' | 'message' | 'remedy'>,
    { share = LIMITS.spentShare, event = '' }: { readonly share?: number; readonly event?: string } = {},
  ): Finding[] => {
    if (spent === undefined || spent.limit <= 0) return [];
    if (spent.used / spent.limit < share && event === '') return [];
    const isGone = spent.used / spent.limit >= LIMITS.spentGoneShare || event !== '';
    const evidence = [
      `pid ${pid} ${command}: ${spent.used} of ${spent.limit} (${formatPercent(spent.used / spent.limit)})${spent.cgroup === undefined ? '' : `, the limit of ${spent.cgroup}`}`,
      ...(event === '' ? [] : [event]),
    ];
    return [{ severity: isGone ? 'critical' : 'warning', process: { pid, command }, evidence, ...rest }];
  };
  return [
    ...find(openFiles, {
      code: 'FilesUsedUp',
      message: `${command} (pid ${pid}) has ${openFiles?.used} of the ${openFiles?.limit} files open that it may have: soon it can take no connection and start no pod`,
      remedy: `Raise the limit at once, which interrupts nothing: prlimit --pid ${pid} --nofile=1048576; for good with LimitNOFILE in its unit (systemctl edit ${unit}). See what it keeps open: ls -l /proc/${pid}/fd.`,
    }),
    ...find(
      tasks,
      {
        code: 'TasksUsedUp',
        message: `the cgroup of ${command} (pid ${pid}) has ${tasks?.used} of the ${tasks?.limit} tasks that it may have: ${command === 'kubelet' ? 'it can start nothing' : 'it can start no shim and no runc'}`,
        remedy: `Raise TasksMax of its unit, which interrupts nothing: systemctl set-property ${unitWith(tasks, unit)} TasksMax=infinity; and see who is in it (systemd-cgls${tasks === undefined ? '' : ` ${tasks.cgroup}`}).`,
      },
      {
        event:
          refusedTasks === 0
            ? ''
            : `its cgroup refused ${count(refusedTasks, 'task')} while this ran (pids.events)`,
      },
    ),
    ...find(
      memory,
      {
        code: 'MemoryUsedUp',
        message: `the cgroup of ${command} (pid ${pid}) has ${formatBytes(memory?.used ?? 0)} of the ${formatBytes(memory?.limit ?? 0)} of memory that it may have: the kernel slows it down, then kills it`,
        remedy: `Raise its limit, which interrupts nothing: systemctl set-property ${unitWith(memory, unit)} MemoryMax=infinity. If it grows on, it leaks: keep a heap profile for its makers, ${restart}.`,
      },
      {
        event:
          oomKills === 0
            ? ''
            : `the kernel killed ${oomKills === 1 ? '1 process' : `${oomKills} processes`} in its cgroup for want of memory while this ran`,
      },
    ),
    ...((cpuPeriods?.limit ?? 0) < LIMITS.cpuPeriods
      ? []
      : find(
          cpuPeriods,
          {
            code: 'CpuThrottled',
            message: `the cgroup of ${command} (pid ${pid}) used up its share of CPU time in ${cpuPeriods?.used} of ${cpuPeriods?.limit} periods: every call waits`,
            remedy: `Raise CPUQuota of its unit, which interrupts nothing: systemctl set-property ${unit} CPUQuota=; and see what it does (top -H -p ${pid}).`,
          },
          { share: LIMITS.cpuThrottledShare },
        )),
  ];
}

/** The unit or slice whose cgroup it is; the daemon's own where that has no name of systemd's. */
function unitWith(spent: { readonly cgroup: string } | undefined, unit: string): string {
  return /[^/]+\.(?:service|slice|scope)$/.exec(spent?.cgroup ?? '')?.[0] ?? unit;
}

function toNotRunning(file: string): Finding {
  return {
    ...{ code: 'KubeletNotRunning', severity: 'warning' },
    message:
      'no kubelet runs, though one is set up on this machine: its pods go on, and nobody starts, probes or removes any',
    evidence: [`${file} is there, no process is called kubelet, and podloop’s agent does not answer either`],
    remedy:
      'See why it ended (systemctl status kubelet, journalctl -u kubelet), and start it: systemctl start kubelet, which interrupts no pod.',
  };
}

/** What a kubelet does that takes connections and does not answer. */
export function toKubeletHung(url: string, forMs: number, daemon?: NamedProcess): Finding {
  const { pid, command } = daemon ?? {};
  return {
    ...{ code: 'KubeletHung', severity: 'critical' },
    ...(daemon === undefined ? {} : { process: { pid: daemon.pid, command: daemon.command } }),
    message: `the kubelet${pid === undefined ? '' : ` (pid ${pid})`} takes connections and does not answer: it is stopped or hung, and the node goes NotReady`,
    evidence: [`no answer of ${url} within ${formatMs(forMs)}`],
    remedy: `Have it write down what it does, which ends it: kill -QUIT ${pid ?? 'its pid'}, then journalctl -u ${command === undefined ? 'kubelet' : unitOf(command)}. systemd starts it again, and pods go on over that.`,
  };
}
