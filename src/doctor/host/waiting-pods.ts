import { formatPod } from '#kube/pod/pod-ref.js';
import { type WaitingPod } from '../facts/kubelet-facts.js';
import { CRASHES, crashesAgain, describeEnd, podsOf, type StatusObject } from '../pods/pod-object.js';
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
  return podsOf(page).flatMap((object): WaitingPod[] => {
    const { metadata = {}, status = {} } = object;
    const { uid = '', namespace = '', name = '', deletionTimestamp, creationTimestamp } = metadata;
    if (deletionTimestamp !== undefined || ['Succeeded', 'Failed'].includes(status.phase ?? '')) return [];
    const pod = { uid, namespace, name };
    const sinceMs = Date.parse(status.startTime ?? creationTimestamp ?? '');
    const rest = {
      forMs: Number.isNaN(sinceMs) ? 0 : Math.max(0, nowMs - sinceMs),
      hasSandbox: ready.has(formatPod(pod)),
    };
    const { initContainerStatuses = [], containerStatuses = [] } = status;
    if (initContainerStatuses.length + containerStatuses.length === 0)
      return [{ pod, reason: status.phase ?? 'Unknown', message: '', ...rest }];
    const waits = [...initContainerStatuses, ...containerStatuses].find(
      ({ state }) => state?.waiting !== undefined && state.waiting.reason !== FOLLOWS,
    );
    if (waits !== undefined) {
      const { reason = '', message = '' } = waits.state!.waiting!;
      return [{ pod, container: waits.name ?? '', reason, message, ...rest }];
    }
    const crashed =
      initContainerStatuses.find((each) => crashesAgain(each, object, true)) ??
      containerStatuses.find((each) => crashesAgain(each, object, false));
    if (crashed === undefined) return [];
    const message = describeCrashes(crashed);
    return [{ pod, container: crashed.name ?? '', reason: CRASHES, message, ...rest }];
  });
}

function describeCrashes({ restartCount = 0, state }: StatusObject): string {
  const { message: _, ...end } = state?.terminated ?? {};
  const often = restartCount === 1 ? 'once' : `${restartCount} times`;
  return `it ${describeEnd(end)} after it had been started again ${often}`;
}
