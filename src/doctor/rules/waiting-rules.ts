import { formatPod } from '#kube/pod/pod-ref.js';
import { type KubeletMetrics, type WaitingPod } from '../facts/kubelet-facts.js';
import { type Finding } from '../finding.js';
import { valueOf } from '../looked.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { count, formatMs, nameSome } from './words.js';

const MAX_PODS = 10;
/** A container that is about to be made says no more than that. */
const BEING_MADE = ['ContainerCreating', 'PodInitializing', 'Pending'];

const OF_SANDBOXES =
  'The runtime’s words are in the kubelet’s log: journalctl -u kubelet -g "Failed to create sandbox" -n 3. Mostly the network has no address left (ls /var/lib/cni/networks/*), a CNI plugin fails, the pause image is not there (crictl images, sandbox_image of the runtime), or runc itself ends with an error. To mend these interrupts no pod that runs.';

/** Pods that a kubelet has and that do not run: for want of a sandbox, which is the node's illness, or for reasons of their own. */
export const waitingRules: Rule = ({ kubelet, atMs }) => {
  const waiting = valueOf(kubelet.waiting);
  const metrics = valueOf(kubelet.metrics);
  if (waiting === undefined) return metrics === undefined ? [] : findByCounters(metrics);
  const late = waiting.filter(({ forMs }) => forMs >= LIMITS.podWaitsMs);
  const { volumesMissing = 0 } = metrics ?? {};
  const withoutSandbox = late.filter(({ hasSandbox, reason }) => !hasSandbox && BEING_MADE.includes(reason));
  const sandboxesFail = metrics !== undefined && doSandboxesFail(withoutSandbox, metrics);
  const isOfNode = (pod: WaitingPod): boolean => sandboxesFail && withoutSandbox.includes(pod);
  return [
    ...(metrics === undefined ? [] : findFailing(late.filter(isOfNode), metrics, atMs)),
    ...findWaiting(
      late.filter((pod) => !isOfNode(pod) && isStuck(pod, volumesMissing)),
      volumesMissing,
      atMs,
    ),
  ];
};

/**
 * Whether sandboxes of these pods fail. Errors are counted since the kubelet started, and one of long ago is no reason for a pod that is
 * made slowly: without an error while this ran there have to be as many as these pods have had by now, each in fifteen seconds.
 */
function doSandboxesFail(
  pods: readonly WaitingPod[],
  { sandboxErrors, sandboxErrorsLately, volumesMissing = 0 }: KubeletMetrics,
): boolean {
  if (sandboxErrorsLately > 0) return true;
  // A sandbox waits for the volumes of its pod.
  if (volumesMissing > 0) return false;
  const old = pods.filter(({ forMs }) => forMs >= LIMITS.sandboxesFailMs);
  const expected = old.reduce((sum, { forMs }) => sum + Math.floor(forMs / LIMITS.sandboxRetryMs), 0);
  return old.length > 0 && sandboxErrors >= Math.min(expected, LIMITS.sandboxErrorsMany);
}

/** An image and a volume may take their time, a sandbox and a container do not. */
function isStuck(waiting: WaitingPod, volumesMissing: number): boolean {
  const { reason, forMs } = waiting;
  if (!BEING_MADE.includes(reason) || waitsForImage(waiting)) return true;
  return forMs >= LIMITS.podWaitsLongMs || waitsForVolume(waiting, volumesMissing);
}

/** A sandbox is made when all volumes of its pod are mounted. */
function waitsForVolume({ hasSandbox, reason, forMs }: WaitingPod, volumesMissing: number): boolean {
  return !hasSandbox && BEING_MADE.includes(reason) && volumesMissing > 0 && forMs >= LIMITS.volumeLateMs;
}

/** With its sandbox there, little but an image can take so long. */
function waitsForImage({ hasSandbox, reason, forMs }: WaitingPod): boolean {
  return hasSandbox && BEING_MADE.includes(reason) && forMs >= LIMITS.imageLateMs;
}

function findFailing(pods: readonly WaitingPod[], metrics: KubeletMetrics, atMs: number): Finding[] {
  if (pods.length === 0) return [];
  const { podsWanted, podsRunning } = metrics;
  const oldest = [...pods].sort((a, b) => b.forMs - a.forMs)[0]!;
  const names = pods.slice(0, MAX_PODS).map(({ pod }) => formatPod(pod));
  return [
    {
      ...{
        code: 'SandboxesFail',
        severity: podsRunning === 0 ? 'critical' : 'warning',
        call: 'RunPodSandbox',
      },
      ...{ pod: oldest.pod, pods: pods.map(({ pod }) => pod), sinceMs: atMs - oldest.forMs },
      message: `${pods.length === 1 ? '1 pod does' : `${pods.length} pods do`} not start, as RunPodSandbox fails: ${nameSome(names, pods.length)}`,
      evidence: [
        describeErrors(metrics),
        ...(podsWanted === undefined || podsRunning === undefined
          ? []
          : [`${podsWanted} pods wanted, ${podsRunning} run`]),
      ],
      remedy: OF_SANDBOXES,
    },
  ];
}

/** Who may read the kubelet's metrics and not its pods sees that some do not start, and not which. */
function findByCounters(metrics: KubeletMetrics): Finding[] {
  const { sandboxErrors, sandboxErrorsLately, podsWanted = 0, podsRunning = 0, url } = metrics;
  const missing = podsWanted - podsRunning;
  if (missing <= 0 || sandboxErrorsLately === 0 || sandboxErrors < LIMITS.sandboxErrors) return [];
  return [
    {
      ...{
        code: 'SandboxesFail',
        severity: podsRunning === 0 ? 'critical' : 'warning',
        call: 'RunPodSandbox',
      },
      message: `${missing} of ${podsWanted} pods of the kubelet do not start, as RunPodSandbox fails`,
      evidence: [
        describeErrors(metrics),
        `${podsWanted} pods wanted, ${podsRunning} run; which do not is in ${url.replace(/metrics$/, 'pods')}, which takes the right to nodes/proxy`,
      ],
      remedy: OF_SANDBOXES,
    },
  ];
}

function describeErrors({ sandboxErrors, sandboxErrorsLately, url }: KubeletMetrics): string {
  return `${sandboxErrors} calls of run_podsandbox have failed since the kubelet started, ${sandboxErrorsLately} while this ran (${url})`;
}

function findWaiting(pods: readonly WaitingPod[], volumesMissing: number, atMs: number): Finding[] {
  const [first] = pods;
  if (first === undefined) return [];
  const names = pods.slice(0, MAX_PODS).map(({ pod, reason }) => `${formatPod(pod)} (${reason})`);
  const wordsOf = (pod: WaitingPod): string => {
    if (pod.message !== '') return `: ${pod.message}`;
    if (waitsForVolume(pod, volumesMissing))
      return `, without a sandbox: most likely a volume is not there (the kubelet has yet to mount ${count(volumesMissing, 'volume')})`;
    return waitsForImage(pod) ? ', with its sandbox there: most likely an image is being pulled' : '';
  };
  return [
    {
      // The node is well: something is wrong with these pods.
      ...{ code: 'PodsWait', severity: 'info', pod: first.pod, pods: pods.map(({ pod }) => pod) },
      sinceMs: atMs - Math.max(...pods.map(({ forMs }) => forMs)),
      message: `${pods.length === 1 ? '1 pod does' : `${pods.length} pods do`} not run, for reasons of their own: ${nameSome(names, pods.length)}`,
      evidence: pods
        .slice(0, MAX_PODS)
        .map(
          (each) =>
            `${formatPod(each.pod)}${each.container ? `, container ${each.container}` : ''}: ${each.reason} for ${formatMs(each.forMs)}${wordsOf(each)}`,
        ),
      remedy: `See at which step each stands, and why: podloop doctor pod ${first.pod.name} -n ${first.pod.namespace}. The node is not to blame.`,
    },
  ];
}
