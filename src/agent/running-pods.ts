import { type PodCache } from '../pleg/pod-cache.js';
import { type RunningPod } from '../server/kubelet-pods.js';

/** The pods of which something runs, of all owners, as the runtime has them. */
export function runningPods(cache: Pick<PodCache, 'get' | 'uids'>): RunningPod[] {
  return [...cache.uids()].flatMap((uid): RunningPod[] => {
    const { namespace, name, containers } = cache.get(uid).status;
    const running = containers.filter(({ state }) => state === 'running');
    if (running.length === 0) return [];
    return [
      { uid, namespace, name, containers: running.map(({ name: each, image }) => ({ name: each, image })) },
    ];
  });
}
