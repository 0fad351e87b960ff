import { formatPod } from '#kube/pod/pod-ref.js';
import { type FindingCode } from '../finding-codes.js';
import { type Finding, podsOf } from '../finding.js';
import {
  type ContainerOwner,
  type IllShim,
  MAX_NAMED,
  type OciCall,
  type ProcessState,
  type RuntimeWork,
  type ShimFiles,
} from '../host/host-facts.js';
import { groupBy } from '../group-by.js';
import { valueOf } from '../looked.js';
import { LIMITS } from './limits.js';
import { findBusy } from './pressure-rules.js';
import { type Rule } from './rule.js';
import {
  count,
  formatMs,
  formatPercent,
  describeStandstill,
  describeStop,
  howToContinue,
  howToThaw,
  longestOf,
  nameSome,
  sinceOf,
} from './words.js';

/** Maximum of shims or calls that are ill alike to report one by one: more have one cause. */
const MAX_SINGLE = 3;
const PAUSED = 'Whoever pauses a container, as for a checkpoint, lets it go on again: see that this is over.';
const ENDING =
  'To end the shim (kill -9) ends the containers of this pod, which the kubelet then starts again; no other pod notices. Do that before any restart of containerd, which waits for the shim as well.';

/** Shims that cannot do their work, and calls of the OCI runtime (runc) that hang below them. */
export const shimRules: Rule = ({ machine, atMs }) => {
  const work = valueOf(machine.runtimeWork);
  if (work === undefined) return [];
  const endsLate = countPods(work.endedCalls.filter(isSlow)) >= LIMITS.ociCallSlowPods;
  const late = work.calls.filter((call) => isLate(call, endsLate));
  const ofHungCalls = new Set(late.map(nameOwner));
  // A shim does not answer while the call that it made hangs; that call is the cause.
  const ill = work.illShims.filter(
    (shim) => shim.illness !== 'silent' || !isExplained(shim, work, ofHungCalls),
  );
  const hung = late.filter((call) => !isOfIllShim(call, ill));
  // Containers that are frozen have a cgroup each.
  const causeOf = ({ illness, cgroup = '' }: IllShim): string =>
    illness === 'silent' && cgroup !== '' ? 'below' : `${illness} ${cgroup}`;
  const byIllness = [...groupBy(ill, causeOf).values()];
  // Where all are ill alike those that are not named here are so, too.
  const more = byIllness.length === 1 && ill.length === work.illShims.length ? work.illShimCount : 0;
  return [
    ...byIllness.flatMap((alike) =>
      alike.length > MAX_SINGLE
        ? [toIllShims(alike, Math.max(more, alike.length), atMs)]
        : alike.map((shim) => toIllShim(shim, atMs)),
    ),
    ...[...groupBy(hung, ({ operation }) => operation).values()].flatMap((alike) =>
      alike.length > MAX_SINGLE ? [toHungCalls(alike, atMs)] : alike.map((call) => toHungCall(call, atMs)),
    ),
    ...(work.shimFiles ?? []).flatMap(findFull),
    ...findSlowCalls(work, findBusy(machine), (call) => !isLate(call, endsLate)),
  ];
};

/** Where calls for many pods have ended late, another late one may well end, too. */
function isLate(call: OciCall, endsLate: boolean): boolean {
  if (copiesMemory(call)) return call.forMs >= LIMITS.ociCopyLateMs;
  return call.forMs >= (endsLate ? LIMITS.ociCallVeryLateMs : LIMITS.ociCallLateMs);
}

function isSlow(call: OciCall): boolean {
  return !copiesMemory(call) && call.forMs >= LIMITS.ociCallSlowMs;
}

/** A checkpoint writes all of a container’s memory to the disk, and the container stands still meanwhile. */
function copiesMemory({ operation }: OciCall): boolean {
  return operation === 'checkpoint' || operation === 'restore';
}

function countPods(calls: readonly OciCall[]): number {
  return new Set(calls.map(nameOwner)).size;
}

/** The pod, or a word for one that nobody can name. */
function nameOwner({ pod }: ContainerOwner): string {
  return pod === undefined ? 'a pod' : formatPod(pod);
}

/** `pod default/web`, `container app of pod default/web`. */
export function describeOwner({ pod, container }: ContainerOwner): string {
  const name = pod === undefined ? 'a pod' : `pod ${formatPod(pod)}`;
  return container === undefined ? name : `container ${container} of ${name}`;
}

/** By a call that it waits for, or waited for while it was asked. */
function isExplained(
  shim: IllShim,
  { calls: running, endedCalls }: RuntimeWork,
  hung: ReadonlySet<string>,
): boolean {
  // Calls into a container that is frozen wait for that, unless a checkpoint has frozen it.
  if (shim.cgroup !== undefined)
    return running.some((call) => copiesMemory(call) && nameOwner(call) === nameOwner(shim));
  // Of ended calls only those that are reported themselves, as runc is slow for many.
  const slow = endedCalls.filter(isSlow);
  const calls = countPods(slow) >= LIMITS.ociCallSlowPods ? [...running, ...slow] : running;
  if (shim.pod === undefined) return calls.some(({ containerId }) => containerId === shim.sandboxId);
  return hung.has(formatPod(shim.pod)) || calls.some((call) => nameOwner(call) === nameOwner(shim));
}

function isOfIllShim(call: OciCall, ill: readonly IllShim[]): boolean {
  return ill.some((shim) => shim.pod !== undefined && nameOwner(shim) === nameOwner(call));
}

function describeState(process: ProcessState): string {
  const { state, waitsIn } = process;
  return `state ${state}${waitsIn === '' ? '' : `, in ${waitsIn}`}${describeStandstill(process)}`;
}

function toIllShim(shim: IllShim, atMs: number): Finding {
  const { pid, command, illness, silentForMs, helpers } = shim;
  const silent =
    silentForMs === undefined
      ? []
      : [`its socket takes connections and gave no answer within ${formatMs(silentForMs)}`];
  return {
    ...{ code: CODES[illness], severity: 'critical', process: { pid, command }, operation: 'shim' },
    ...(shim.pod === undefined ? {} : { pod: shim.pod }),
    ...(shim.container === undefined ? {} : { container: shim.container }),
    ...sinceOf(atMs, shim),
    message: `the shim of ${describeOwner(shim)} (pid ${pid}) ${illness === 'stopped' ? describeStop(shim) : ILLNESSES[illness]}: exec, kill and the deletion of this pod hang, and in the end the runtime’s lists`,
    evidence: [
      `pid ${pid} ${command}: ${describeState(shim)}`,
      ...silent,
      ...(illness === 'silent' && shim.cgroup !== undefined
        ? [`a container of this pod is frozen with its cgroup ${shim.cgroup}`]
        : []),
      ...helpers.map(describeHelper),
    ],
    ids: [`sandbox ${shim.sandboxId}`],
    remedy: remedyOf(shim),
  };
}

const ALIKE = {
  stopped: 'are stopped by a signal',
  frozen: 'are frozen with their cgroup',
  blocked: 'hang in the kernel',
  silent: 'do not answer',
} as const;

/** Many shims that are ill alike. @param count how many there are, of which some are given */
function toIllShims(alike: readonly IllShim[], count: number, atMs: number): Finding {
  const [{ pid, command, illness, cgroup = 'its cgroup' }] = alike as [IllShim];
  const pids = alike.map((shim) => shim.pid).join(' ');
  const held = alike.find(({ tracer }) => tracer !== undefined);
  const remedies = {
    stopped:
      held !== undefined
        ? howToContinue(held)
        : `Let them go on: kill -CONT ${pids}${count > alike.length ? ' and the others' : ''}, which interrupts nothing. See who stopped them all.`,
    frozen: howToThaw(cgroup),
    blocked: `See what they wait for: cat /proc/${pid}/stack, dmesg, a disk or a server that their pods share. None can be ended before that answers; a dead mount is released with umount -f, which fails the calls of the pods that have it.`,
    silent:
      alike[0]!.cgroup !== undefined
        ? `${howToThaw(cgroup)} And so each: find /sys/fs/cgroup -name cgroup.freeze -o -name freezer.state. ${PAUSED}`
        : `See what they have in common: the disk below the runtime’s state, its logs, memory. kill -USR1 ${pid} has one write down what it does, which interrupts nothing. To end a shim (kill -9) ends the containers of its pod, which the kubelet then starts again.`,
  };
  return {
    ...{ code: CODES[illness], severity: 'critical', process: { pid, command }, operation: 'shim' },
    ...{ ...podsOf(alike), ...sinceOf(atMs, longestOf(alike)) },
    message: `${count} shims ${ALIKE[illness]} (${nameSome(alike.map(nameOwner), count)}): exec, kill and the deletion of these pods hang, and in the end the runtime’s lists`,
    evidence: alike.map(
      (shim) => `pid ${shim.pid} ${shim.command} of ${describeOwner(shim)}: ${describeState(shim)}`,
    ),
    ids: alike.map((shim) => `pid ${shim.pid}: sandbox ${shim.sandboxId}`),
    remedy: remedies[illness],
  };
}

function describeHelper(helper: IllShim['helpers'][number]): string {
  return `below it pid ${helper.pid} ${helper.command}, in no container: ${describeState(helper)}`;
}

const CODES: Readonly<Record<IllShim['illness'], FindingCode>> = {
  ...{ stopped: 'ShimStopped', frozen: 'ShimStopped', blocked: 'ShimHangs', silent: 'ShimHangs' },
};
const ILLNESSES = {
  frozen: 'is frozen with its cgroup',
  blocked: 'hangs in the kernel',
  silent: 'does not answer',
} as const;

function remedyOf(shim: IllShim): string {
  const { pid, illness, helpers, cgroup = 'its cgroup' } = shim;
  switch (illness) {
    case 'stopped':
      return `${howToContinue(shim)} ${ENDING}`;
    case 'frozen':
      return howToThaw(cgroup);
    case 'blocked':
      return `See what it waits for: cat /proc/${pid}/stack, dmesg, and the pod’s volumes on servers. It cannot be ended before that answers; a dead mount is released with umount -f.`;
    case 'silent':
      if (shim.cgroup !== undefined) return `${howToThaw(cgroup)} ${PAUSED}`;
      if (helpers.length > 0)
        return `It waits for what a call of runc left behind. To end that fails this call alone, and the runtime tries again: kill -9 ${helpers.map((helper) => helper.pid).join(' ')}. ${ENDING}`;
      return `Have it write down what it does (kill -USR1 ${pid} interrupts nothing; the dump goes to containerd’s log). ${ENDING}`;
  }
}

function toHungCall(call: OciCall, atMs: number): Finding {
  const { pid, command, operation, containerId, forMs, waitsFor, pod, container, caller } = call;
  const { frozenCgroup } = call;
  const last = waitsFor ?? call;
  return {
    ...{ code: 'OciRuntimeHangs', severity: forMs >= LIMITS.ociCallVeryLateMs ? 'critical' : 'warning' },
    ...(pod === undefined ? {} : { pod }),
    ...(container === undefined ? {} : { container }),
    ...{ operation: `runc ${operation}`, process: { pid, command }, sinceMs: atMs - forMs },
    message: `runc ${operation} of ${describeOwner(call)} has run for ${formatMs(forMs)}: ${caller ?? 'the shim'} waits for it (pid ${pid})`,
    evidence: [
      `pid ${pid} ${command}: ${describeState(call)}`,
      ...(waitsFor === undefined
        ? []
        : [`it waits for pid ${last.pid} ${last.command}: ${describeState(last)}`]),
      ...(frozenCgroup === undefined ? [] : [`${frozenCgroup} is frozen, and that with it`]),
    ],
    ids: [`container ${containerId}`],
    remedy:
      frozenCgroup !== undefined
        ? `${howToThaw(frozenCgroup)} ${PAUSED}`
        : `See what it waits for: cat /proc/${last.pid}/stack and /proc/${last.pid}/wchan, the pod’s volumes, systemd and D-Bus (systemctl is-system-running). ${REMEDIES[operation] ?? REMEDY} (kill -9 ${pid}).`,
  };
}

/** Calls of one operation that hang for many pods, the oldest first. */
function toHungCalls(alike: readonly OciCall[], atMs: number): Finding {
  const [{ pid, command, operation, forMs, waitsFor, caller }] = alike as [OciCall];
  const names = [...new Set(alike.map(nameOwner))];
  const last = waitsFor?.pid ?? pid;
  return {
    ...{ code: 'OciRuntimeHangs', severity: forMs >= LIMITS.ociCallVeryLateMs ? 'critical' : 'warning' },
    ...{ ...podsOf(alike), operation: `runc ${operation}`, process: { pid, command }, sinceMs: atMs - forMs },
    message: `${alike.length} calls of runc ${operation} have run for up to ${formatMs(forMs)} (${nameSome(names.slice(0, MAX_NAMED), names.length)}): ${caller ?? 'their shims'} wait${caller === undefined ? '' : 's'} for them`,
    evidence: alike.map(
      (call) =>
        `pid ${call.pid} runc ${call.operation} of ${describeOwner(call)}: ${formatMs(call.forMs)}, ${describeState(call.waitsFor ?? call)}`,
    ),
    ids: alike.map((call) => `pid ${call.pid}: container ${call.containerId}`),
    remedy: `See what they all wait for: cat /proc/${last}/stack and /proc/${last}/wchan, systemd and D-Bus (systemctl is-system-running), the disk of the runtime. ${REMEDIES[operation] ?? REMEDY} (kill -9 ${pid}, and so each).`,
  };
}

/** A shim at its limit goes on, and every exec, attach and new container of its pod fails. */
function findFull({ pid, command, openFiles, ...owner }: ShimFiles): Finding[] {
  const { used, limit } = openFiles;
  if (used / limit < LIMITS.spentShare && limit - used >= LIMITS.execFiles) return [];
  return [
    {
      ...{ code: 'FilesUsedUp', severity: 'warning', process: { pid, command }, operation: 'shim' },
      ...(owner.pod === undefined ? {} : { pod: owner.pod }),
      message: `the shim of ${describeOwner(owner)} (pid ${pid}) has ${used} of the ${limit} files open that it may have: exec, probes that run commands, attach and new containers of this pod fail`,
      evidence: [`pid ${pid} ${command}: ${used} of ${limit} (${formatPercent(used / limit)})`],
      remedy: `Raise the limit at once, which interrupts nothing: prlimit --pid ${pid} --nofile=65536; shims have that of the runtime’s unit (LimitNOFILE). See what it keeps open: ls -l /proc/${pid}/fd.`,
    },
  ];
}

const REMEDY = 'To end this call lets it fail, and the kubelet tries again';
const REMEDIES: Readonly<Record<string, string>> = {
  create: 'To end this call fails the start of this container alone, and the kubelet tries again',
  exec: 'To end this call fails one probe or kubectl exec and interrupts no container',
  kill: 'To end this call fails one attempt to stop this container, and the kubelet tries again',
  delete: 'To end this call fails one attempt to remove this container, and the kubelet tries again',
};

/** Calls that are slow for many pods at once are no illness of a pod. Those that have ended count, however long they took. */
function findSlowCalls(
  { calls, callCount, endedCalls, endedCallCount }: RuntimeWork,
  busy: string | undefined,
  mayEnd: (call: OciCall) => boolean,
): Finding[] {
  const slow = [...calls.filter(mayEnd), ...endedCalls].filter(isSlow).sort((a, b) => b.forMs - a.forMs);
  const names = [...new Set(slow.map(nameOwner))];
  if (names.length < LIMITS.ociCallSlowPods) return [];
  return [
    {
      // Where all wait for the CPU or a disk, runc does as well, and is not to blame.
      ...{ code: 'OciRuntimeSlow', severity: busy === undefined ? 'warning' : 'info' },
      operation: `runc ${slow[0]!.operation}`,
      message: `runc is slow for all pods: ${slow.length} of the ${count(callCount + endedCallCount, 'call')} seen took more than ${formatMs(LIMITS.ociCallSlowMs)}, up to ${formatMs(slow[0]!.forMs)} (${nameSome(names.slice(0, MAX_NAMED), names.length)})`,
      evidence: [
        ...(busy === undefined ? [] : [`the machine is busy: ${busy}`]),
        ...slow
          .slice(0, MAX_NAMED)
          .map(
            (call) =>
              `pid ${call.pid} runc ${call.operation} of ${describeOwner(call)}: ${formatMs(call.forMs)}, ${describeState(call.waitsFor ?? call)}`,
          ),
      ],
      remedy:
        'Pods start and end late, and none of them is to blame. See what runc waits for: the CPU (top), its disk (iostat -x), systemd and D-Bus; and that it is the runc that it should be (which runc, runc --version).',
    },
  ];
}
