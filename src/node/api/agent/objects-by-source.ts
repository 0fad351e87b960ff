import { type PodObjects } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';

/** Lets each pod find ConfigMaps and Secrets where it came from: in manifests, or in the API. */
export function objectsBySource(manifests: PodObjects, cluster: PodObjects): PodObjects {
  const sourceOf = (pod: NodePod): PodObjects => (isClusterPod(pod) ? cluster : manifests);
  return {
    findConfigMap: (pod, name) => sourceOf(pod).findConfigMap(pod, name),
    findSecret: (pod, name) => sourceOf(pod).findSecret(pod, name),
  };
}
