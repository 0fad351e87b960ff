import { type PlegHealth } from '#watch';
import { type CriCall } from '#base/channels/channels.js';
import { formatGoDuration } from '#base/time/go-duration.js';

/** The facts for finding what hangs. */
export interface CulpritFacts {
  readonly health: PlegHealth;
  /** Calls that the runtime has not answered. */
  readonly calls: readonly CriCall[];
  /** In the clock of the calls. */
  readonly nowMonotonicMs: number;
}

/** Anything younger may just be slow. */
const HANGS_AFTER_MS = 1_000;

/**
 * What makes a node NotReady, for people; undefined when nothing points to anything. Pure.
 *
 * It is the call that has hung longest, with its pod; otherwise the pod that has failed longest; otherwise
 * the last error.
 */
export function findCulprit({ health, calls, nowMonotonicMs }: CulpritFacts): string | undefined {
  const { reason, stuckPods, stuckPodCount } = health;
  // A hanging list is the cause itself, whatever else hangs.
  const wanted = reason?.kind === 'listHanging' ? /^List/ : /./;
  const hung = calls
    .filter(({ method, streaming }) => !streaming && wanted.test(method))
    .map((call) => ({ call, forMs: nowMonotonicMs - call.startedAtMonotonicMs }))
    // Calls without a fixed duration, above all pulls, hang only once they should have ended.
    .filter(({ call, forMs }) => call.deadlineMs !== undefined && forMs - (call.ownMs ?? 0) >= HANGS_AFTER_MS)
    .sort((one, other) => other.forMs - one.forMs);
  const others = (count: number, what: string): string => (count === 0 ? '' : `, and ${count} more ${what}`);
  const [longest] = hung;
  // Inspections fail because of a pod, and it has hung since its first failure, as each call has a deadline.
  const [stuck] = stuckPods;
  if (stuck !== undefined && reason?.kind !== 'listHanging') {
    const { namespace, name, uid } = stuck.pod;
    const call = hung.find(({ call: { pod } }) => pod?.uid === uid)?.call;
    const more = others(stuckPodCount - 1, stuckPodCount === 2 ? 'pod' : 'pods');
    if (stuck.state === 'hung') {
      return `${call?.method ?? 'ContainerStatus'} of ${namespace}/${name} has hung for ${rounded(stuck.forMs)}${more}`;
    }
    const error = stuck.error === undefined ? '' : `: ${stuck.error}`;
    return `the status of ${namespace}/${name} has failed for ${rounded(stuck.forMs)}${more}${error}`;
  }
  if (longest !== undefined) {
    const { method, pod } = longest.call;
    const of = pod === undefined ? '' : ` of ${pod.namespace}/${pod.name}`;
    const more = others(hung.length - 1, hung.length === 2 ? 'call' : 'calls');
    return `${method}${of} has hung for ${rounded(longest.forMs)}${more}`;
  }
  return reason?.error;
}

function rounded(durationMs: number): string {
  return formatGoDuration(Math.round(durationMs / 1_000) * 1_000);
}
