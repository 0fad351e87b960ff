import { NOT_RECORDED } from '#base/channels/recording-words.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type OperationFacts } from '../facts/call-meter.js';
import { type Finding } from '../finding.js';
import { type DaemonFacts } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { type RuntimeFacts } from '../facts/runtime-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { findRuntimeSlowness, judgeSeries } from './slowness.js';
import { count, formatBytes, formatMs } from './words.js';

const LISTS = ['ListPodSandbox', 'ListContainers'];
/** Calls about single pods, which other rules report. */
const STATUS_CALLS = ['PodSandboxStatus', 'ContainerStatus'];
/** What does not work while a call hangs. */
const HUNG: Readonly<Record<string, string>> = {
  ListImages:
    ' while pods are listed: the image store of the runtime is locked, so no pod starts that needs an image, and no image is removed',
  Status: ': the kubelet calls the runtime down, and the node goes NotReady',
};
/** Calls of CRI's ImageService. */
const IMAGE_CALLS = ['ImageFsInfo', 'ListImages'];
/** The connection has a finding of its own. */
const GONE = ['CRI_UNAVAILABLE', 'CRI_CANCELLED'];

/** How to find out what a runtime that hangs is at, and to get it to work again. */
export function howToUnlock(daemons: DaemonFacts = {}): string {
  const whom = daemons.runtime === undefined ? 'its pid' : `${daemons.runtime.pid}`;
  return `Have it write down what it does, which interrupts nothing: kill -USR1 ${whom} (containerd writes it to its log, CRI-O to /tmp/crio-goroutine-stacks-*.log). Look for tasks that hang in the kernel, then restart the runtime; pods go on over that${daemons.runtime?.command === 'cri-dockerd' ? ', over a restart of Docker itself only with live-restore in its daemon.json' : ''}.`;
}

/** The process of the runtime, where it was found. */
export function processOf({ runtime }: DaemonFacts = {}): Pick<Finding, 'process'> {
  return runtime === undefined ? {} : { process: { pid: runtime.pid, command: runtime.command } };
}

/** What the runtime's calls as a whole show: hangs, deadlocks, failures, slowness. */
export const runtimeRules: Rule = ({ runtime, machine }) => [
  ...findHangs(runtime, valueOf(machine.daemons)),
  ...findFailures(runtime),
  ...findLargeLists(runtime),
  ...findSlowness(runtime),
];

const find = ({ operations }: RuntimeFacts, name: string): OperationFacts | undefined =>
  operations.find(({ method }) => method === name);

function describe({ method, count, hung, failed, p50Ms, maxMs }: OperationFacts): string {
  const of = count === 1 ? '' : ` of ${count}`;
  if (hung > 0) return `${method}: ${hung}${of} not answered within ${formatMs(maxMs)}`;
  if (failed > 0) return `${method}: ${failed}${of} failed`;
  return `${method}: ${formatMs(p50Ms)} (median of ${count}), at most ${formatMs(maxMs)}`;
}

function findHangs(runtime: RuntimeFacts, daemons: DaemonFacts | undefined): Finding[] {
  const hung = runtime.operations.filter(
    (operation) => operation.hung > 0 && !STATUS_CALLS.includes(operation.method),
  );
  if (hung.length === 0) return [];
  const evidence = runtime.operations.map(describe);
  const rest = { ...processOf(daemons), remedy: howToUnlock(daemons) };
  const pid =
    daemons?.runtime === undefined ? '' : ` (${daemons.runtime.command}, pid ${daemons.runtime.pid})`;
  const names = hung.map(({ method }) => method);
  const version = find(runtime, 'Version');
  if (version !== undefined && version.hung > 0 && version.hung + version.failed === version.count) {
    return [
      {
        ...{ code: 'RuntimeHung', severity: 'critical', call: 'Version', evidence, ...rest },
        message: `the runtime${pid} takes connections and answers nothing, not even Version: it is stopped or hung as a whole`,
      },
    ];
  }
  const lists = names.filter((name) => LISTS.includes(name));
  if (lists.length > 0) {
    return [
      {
        ...{ code: 'ListHangs', severity: 'critical', call: lists[0]!, evidence, ...rest },
        message: `${lists.join(' and ')} ${lists.length === 1 ? 'is' : 'are'} never answered while the runtime${pid} answers other calls: it is locked inside (a deadlock), and nobody sees any pod of this node`,
      },
    ];
  }
  return hung.map((operation) => ({
    ...{ code: 'CallHangs', severity: operation.method === 'ImageFsInfo' ? 'warning' : 'critical' },
    ...{ call: operation.method, evidence: [describe(operation)], ...rest },
    message: `${operation.method} is not answered${HUNG[operation.method] ?? ''}`,
  }));
}

function findFailures(runtime: RuntimeFacts): Finding[] {
  return (
    runtime.operations
      .filter(({ method, failed }) => failed > 0 && !STATUS_CALLS.includes(method))
      .filter(({ lastCode = '' }) => !GONE.includes(lastCode))
      // What a recording does not have says nothing of the runtime that was recorded.
      .filter(({ lastError = '' }) => !lastError.includes(NOT_RECORDED))
      // Another rule reports lists that are too large.
      .filter(({ lastCode }) => lastCode !== 'CRI_RESOURCE_EXHAUSTED')
      // Images may be served at a socket of their own.
      .filter(({ method, lastCode }) => !(IMAGE_CALLS.includes(method) && lastCode === 'CRI_UNIMPLEMENTED'))
      .map((operation) => ({
        ...{ code: 'CallFails', severity: IMAGE_CALLS.includes(operation.method) ? 'warning' : 'critical' },
        ...{ call: operation.method, evidence: [describe(operation), operation.lastError ?? ''] },
        message: `${operation.method} fails`,
        remedy: 'The last line of the evidence is the runtime’s own word; its log has the rest.',
      }))
  );
}

function findLargeLists({ lists }: RuntimeFacts): Finding[] {
  return lists.flatMap((list): Finding[] => {
    const { method, bytes = 0, items = 0, largest = [], code, error = '' } = list;
    const isRefused = code === 'CRI_RESOURCE_EXHAUSTED';
    if (!isRefused && bytes < LIMITS.messageNearBytes) return [];
    const isTooLarge = isRefused || bytes > LIMITS.messageBytes;
    return [
      {
        ...{ code: 'ListTooLarge', severity: isTooLarge ? 'critical' : 'warning', call: method },
        message: isTooLarge
          ? `the answer to ${method} is larger than the ${formatBytes(LIMITS.messageBytes)} that a kubelet accepts: it sees no pod of this node any more`
          : `the answer to ${method} is near the ${formatBytes(LIMITS.messageBytes)} that a kubelet accepts`,
        evidence: [
          isRefused ? error : `${method}: ${formatBytes(bytes)} for ${items} items`,
          ...largest.map(
            (share) =>
              `pod ${formatPod(share.pod)}: ${formatBytes(share.bytes)} for ${count(share.items, 'item')}`,
          ),
        ],
        remedy:
          'Remove dead containers and sandboxes (crictl rm, crictl rmp), which interrupts no pod that runs, see why nobody collects them, and make the labels and annotations of the largest pods smaller.',
      },
    ];
  });
}

function findSlowness(runtime: RuntimeFacts): Finding[] {
  const series = judgeSeries(runtime);
  const evidence = [...runtime.operations.map(describe), ...series.evidence];
  const { version, statusMs } = findRuntimeSlowness(runtime) ?? {};
  if (version !== undefined) {
    return [
      {
        ...{ code: 'RuntimeSlow', call: 'Version', evidence },
        severity: version.p50Ms >= LIMITS.versionVerySlowMs || series.isTooLong ? 'critical' : 'warning',
        message: `the runtime answers every call slowly: even Version takes ${formatMs(version.p50Ms)}`,
        remedy:
          'See what it waits for: the CPU (top), its disk (iostat -x), its memory limit. If none of these, have it write down what it does (kill -USR1) and restart it, over which pods go on.',
      },
    ];
  }
  return [
    ...findSlowList(runtime, evidence),
    ...(statusMs === undefined ? [] : [toStatusSlow(runtime, statusMs, evidence)]),
  ];
}

function findSlowList({ lists }: RuntimeFacts, evidence: readonly string[]): Finding[] {
  const slow = lists.filter(({ p50Ms }) => p50Ms >= LIMITS.listSlowMs);
  const [worst] = [...slow].sort((a, b) => b.p50Ms - a.p50Ms);
  if (worst === undefined) return [];
  const items = worst.items === undefined ? '' : ` for ${worst.items} items`;
  return [
    {
      ...{ code: 'ListSlow', call: worst.method, evidence },
      severity: worst.p50Ms >= LIMITS.listVerySlowMs ? 'critical' : 'warning',
      message: `${worst.method} takes ${formatMs(worst.p50Ms)}${items}, while the kubelet lists every second`,
      remedy:
        'Remove dead containers; see what the runtime waits for: its disk (iostat -x), the CPU (top), a lock (kill -USR1 and its log).',
    },
  ];
}

function toStatusSlow(runtime: RuntimeFacts, medianMs: number, evidence: readonly string[]): Finding {
  const isTooSlow = medianMs >= LIMITS.statusVerySlowMs || judgeSeries(runtime).isTooLong;
  const calls = valueOf(runtime.inspections)?.calls ?? 0;
  return {
    ...{
      code: 'StatusSlow',
      severity: isTooSlow ? 'critical' : 'warning',
      call: 'ContainerStatus',
      evidence,
    },
    message: `status calls take ${formatMs(medianMs)} each (median of ${calls}), whatever pod they are about`,
    remedy:
      'A kubelet asks for pods one after another, so this adds up. See what the runtime waits for: its disk (iostat -x), the CPU (top), its storage driver.',
  };
}
