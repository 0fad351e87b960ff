import { type PodObjects } from '../model/config-object.js';
import { type NodePod } from '../model/node-pod.js';
import { isClusterPod } from '../model/static-pod.js';

/** Lets each pod find ConfigMaps and Secrets where it came from itself: among manifests, or in the API. */
export function objectsBySource(manifests: PodObjects, cluster: PodObjects): PodObjects {
  const sourceOf = (pod: NodePod): PodObjects => (isClusterPod(pod) ? cluster : manifests);
  return {
    findConfigMap: (pod, name) => sourceOf(pod).findConfigMap(pod, name),
    findSecret: (pod, name) => sourceOf(pod).findSecret(pod, name),
  };
}
