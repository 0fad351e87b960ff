import { formatPod } from '#kube/pod/pod-ref.js';
import { type WaitingPod } from '../facts/kubelet-facts.js';
import { podsOf } from '../pods/pod-object.js';
import { type ListedSandbox } from '../runtime-port.js';

/** Of a container that waits for an init container, which says itself why. */
const FOLLOWS = 'PodInitializing';

/** Reads the pods that wait out of what a kubelet or podloop's agent serves; those that end or have ended are left out. */
export function readWaitingPods(
  page: unknown,
  sandboxes: readonly ListedSandbox[],
  nowMs: number,
): WaitingPod[] {
  const ready = new Set(sandboxes.filter((each) => each.ready).map(({ pod }) => formatPod(pod)));
  return podsOf(page).flatMap(({ metadata = {}, status = {} }): WaitingPod[] => {
    const { uid = '', namespace = '', name = '', deletionTimestamp, creationTimestamp } = metadata;
    if (deletionTimestamp !== undefined || ['Succeeded', 'Failed'].includes(status.phase ?? '')) return [];
    const pod = { uid, namespace, name };
    const sinceMs = Date.parse(status.startTime ?? creationTimestamp ?? '');
    const rest = {
      forMs: Number.isNaN(sinceMs) ? 0 : Math.max(0, nowMs - sinceMs),
      hasSandbox: ready.has(formatPod(pod)),
    };
    const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    if (statuses.length === 0) return [{ pod, reason: status.phase ?? 'Unknown', message: '', ...rest }];
    const waiting = statuses.filter(({ state }) => state?.waiting !== undefined);
    const first = waiting.find(({ state }) => state?.waiting?.reason !== FOLLOWS);
    if (first === undefined) return [];
    const { reason = '', message = '' } = first.state!.waiting!;
    return [{ pod, container: first.name ?? '', reason, message, ...rest }];
  });
}
