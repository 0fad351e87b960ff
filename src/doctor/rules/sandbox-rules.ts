import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type Finding } from '../finding.js';
import { type NamedProcess } from '../host/host-facts.js';
import { valueOf } from '../looked.js';
import { type RunningPlugin } from '../facts/machine-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { formatMs, nameSome } from './words.js';

const MAX_NAMED = 10;
const REMEDY =
  'See what the plugin waits for: the network’s own pods and their log (kubectl get pods -n kube-system -o wide), the server that gives addresses, a lock below /var/lib/cni. Ending the plugin’s process fails this try alone, after which the runtime begins again; no pod that runs is interrupted.';

/** A sandbox that has been worked on for long. */
interface LateSandbox {
  readonly call: 'RunPodSandbox' | 'StopPodSandbox';
  readonly pod: PodRef | undefined;
  readonly forMs: number;
  readonly evidence: string;
  readonly process?: NamedProcess;
  /** Of a plugin, as CNI names it: ADD, DEL. */
  readonly operation?: string;
  readonly id?: string;
}

/** Sandboxes that do not come up or go away: by the network plugins that run, and by what podloop’s agent waits for. */
export const sandboxRules: Rule = ({ machine, agent, atMs }) => {
  const ofPlugins = (valueOf(machine.plugins)?.running ?? []).map(toLateSandbox);
  const seen = new Set(ofPlugins.map(({ pod }) => pod && formatPod(pod)));
  const ofAgent = (valueOf(agent)?.callsInFlight ?? []).flatMap(({ method, pod, ageMs }): LateSandbox[] => {
    if (method !== 'RunPodSandbox' && method !== 'StopPodSandbox') return [];
    // The plugin says more than the call that waits for it.
    if (seen.has(pod && formatPod(pod))) return [];
    const evidence = `${method} of podloop’s agent has not been answered for ${formatMs(ageMs)}`;
    return [{ call: method, pod, forMs: ageMs, evidence }];
  });
  const late = [...ofPlugins, ...ofAgent].filter(({ forMs }) => forMs >= LIMITS.sandboxLateMs);
  return toFindings(late, atMs);
};

function toLateSandbox({ pid, command, operation, sandboxId, pod, forMs }: RunningPlugin): LateSandbox {
  return {
    ...{ call: operation === 'DEL' ? 'StopPodSandbox' : 'RunPodSandbox', pod, forMs },
    ...{ process: { pid, command }, operation: `CNI ${operation}` },
    evidence: `pid ${pid} ${command}: CNI ${operation}${pod === undefined ? '' : ` of pod ${formatPod(pod)}`} has run for ${formatMs(forMs)}`,
    id: `pid ${pid}: sandbox ${sandboxId}`,
  };
}

function toFindings(late: readonly LateSandbox[], atMs: number): Finding[] {
  const [worst] = [...late].sort((a, b) => b.forMs - a.forMs);
  if (worst === undefined) return [];
  const { call, pod, forMs, process, operation } = worst;
  const pods = late.flatMap((each) => each.pod ?? []);
  const names = [...new Set(late.map((each) => (each.pod === undefined ? 'a pod' : formatPod(each.pod))))];
  const doing = call === 'RunPodSandbox' ? 'has not been set up' : 'has not been taken down';
  return [
    {
      ...{ code: 'SandboxHangs', severity: forMs >= LIMITS.sandboxVeryLateMs ? 'critical' : 'warning', call },
      ...(pod === undefined ? {} : { pod }),
      ...(pods.length > 1 && { pods }),
      ...(process && { process }),
      ...(operation !== undefined && { operation }),
      sinceMs: atMs - forMs,
      message: `the sandbox of ${nameSome(names.slice(0, MAX_NAMED), names.length)} ${doing} for ${formatMs(forMs)}: its network (CNI) hangs, or the runtime with it`,
      evidence: late.slice(0, MAX_NAMED).map(({ evidence }) => evidence),
      ids: late.slice(0, MAX_NAMED).flatMap(({ id }) => id ?? []),
      remedy: REMEDY,
    },
  ];
}
