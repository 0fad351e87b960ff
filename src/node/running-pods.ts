import { type PodCache } from '#watch';
import { type RunningPod } from './api/node/kubelet-pods.js';

/** The pods of all owners of which something runs, by the runtime's last answers. */
export function runningPods(cache: Pick<PodCache, 'getLastKnown' | 'uids'>): RunningPod[] {
  return [...cache.uids()].flatMap((uid): RunningPod[] => {
    const { namespace, name, containers } = cache.getLastKnown(uid);
    const running = containers.filter(({ state }) => state === 'running');
    if (running.length === 0) return [];
    return [
      { uid, namespace, name, containers: running.map(({ name: each, image }) => ({ name: each, image })) },
    ];
  });
}
