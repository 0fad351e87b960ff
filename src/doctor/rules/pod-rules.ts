import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type MeasuredCall } from '../facts/call-meter.js';
import { type Finding } from '../finding.js';
import { groupBy } from '../group-by.js';
import { valueOf } from '../looked.js';
import { type InspectionFacts } from '../facts/runtime-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { count, formatMs, nameSome } from './words.js';

/** Maximum of pods to report one by one; more are reported together. */
const MAX_SINGLE = 3;
const MAX_NAMED = 10;

/** What the status calls about single pods show. */
export const podRules: Rule = ({ runtime }) => {
  const inspections = valueOf(runtime.inspections);
  if (inspections === undefined) return [];
  return [...findHung(inspections), ...findFailing(inspections), ...findSlow(inspections)];
};

const podOf = (calls: readonly MeasuredCall[]): PodRef => calls[0]!.pod!;

function describe({ method, container, ms, outcome, error }: MeasuredCall): string {
  const of = container === undefined ? '' : ` of container ${container}`;
  // The words of a deadline are those of this program, with an id.
  if (outcome === 'hung') return `${method}${of}: not answered within ${formatMs(ms)}`;
  return error === undefined ? `${method}${of}: ${formatMs(ms)}` : `${method}${of}: ${error}`;
}

function findHung({ hung, asked, pods }: InspectionFacts): Finding[] {
  const byPod = [...groupBy(hung, ({ pod }) => pod!.uid).values()];
  if (byPod.length > MAX_SINGLE) {
    const names = byPod.slice(0, MAX_NAMED).map((calls) => formatPod(podOf(calls)));
    return [
      {
        ...{ code: 'PodsHung', severity: 'critical', call: hung[0]!.method, pod: hung[0]!.pod! },
        message: `the runtime does not answer for ${count(byPod.length, 'pod')}: ${nameSome(names, byPod.length)}`,
        evidence: [
          `${byPod.length} of ${asked} pods that were asked for, of ${pods}; ${count(hung.length, 'call')} not answered`,
          ...hung.slice(0, MAX_SINGLE).map((call) => `${formatPod(call.pod!)}: ${describe(call)}`),
        ],
        remedy:
          'See what they have in common: a volume on a server that is gone (dmesg, cat /proc/PID/stack of tasks in state D), an image, a runtime class. Then restart the runtime, over which pods go on.',
      },
    ];
  }
  return byPod.map((calls) => {
    const pod = podOf(calls);
    const { method, container, ms } = calls[0]!;
    const of = container === undefined ? '' : ` of container ${container}`;
    return {
      ...{ code: 'PodHung', severity: 'critical', call: method, pod },
      message: `the runtime does not answer for pod ${formatPod(pod)}: ${method}${of} hangs (for ${formatMs(ms)}, when it was given up)`,
      evidence: calls.map(describe),
      ids: [`pod uid ${pod.uid}`],
      remedy: `A kubelet waits for this pod with all others. Find its shim (ps axww | grep the id of its sandbox, which crictl pods --name ${pod.name} shows) and what that waits for, often a volume on a server that is gone. To end the shim, or to force the pod’s deletion, ends the containers of this pod and no others.`,
    };
  });
}

function findFailing({ failing }: InspectionFacts): Finding[] {
  const byPod = [...groupBy(failing, ({ pod }) => pod!.uid).values()];
  if (byPod.length === 0) return [];
  const names = byPod.slice(0, MAX_NAMED).map((calls) => formatPod(podOf(calls)));
  return [
    {
      ...{ code: 'PodStatusFails', severity: 'warning', call: failing[0]!.method, pod: failing[0]!.pod! },
      message: `the runtime does not give the status of ${nameSome(names, byPod.length)}: nobody learns what happens there`,
      evidence: failing.slice(0, MAX_NAMED).map((call) => `${formatPod(call.pod!)}: ${describe(call)}`),
      remedy:
        'The runtime’s log has the reason. A container that is broken for good is removed with crictl rm -f, its pod with crictl rmp -f: that ends them, and the kubelet makes them again.',
    },
  ];
}

function findSlow({ slowest, medianMs }: InspectionFacts): Finding[] {
  const slow = slowest.filter(
    ({ slowestCall: { ms } }) => ms >= LIMITS.podSlowMs && ms >= medianMs * LIMITS.podSlowFactor,
  );
  const [worst] = slow;
  if (worst === undefined) return [];
  const { method, container, ms } = worst.slowestCall;
  const of = container === undefined ? '' : ` of container ${container}`;
  const lines = slow.map(
    ({ pod, ms: all, calls, slowestCall }) =>
      `${formatPod(pod)}: ${describe({ ...slowestCall, outcome: 'ok' })}; ${formatMs(all)} in ${count(calls, 'call')}`,
  );
  return [
    {
      ...{ code: 'PodSlow', severity: 'warning', pod: worst.pod, call: method },
      evidence: [...lines, `median of a call: ${formatMs(medianMs)}`],
      message: `the status of pod ${nameSome(slow.map(({ pod }) => formatPod(pod)))} takes far longer than that of others: ${method}${of} takes ${formatMs(ms)}`,
      remedy:
        'See its shim and its volumes: a slow network file system, a container that is being stopped, a frozen cgroup.',
    },
  ];
}
