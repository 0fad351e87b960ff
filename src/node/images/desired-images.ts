import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';

/**
 * Images by name that wanted pods are going to use. A pod of a cluster that has ended for good starts nothing any more; one of a
 * manifest may be edited, and runs again then. Pure.
 */
export function desiredImagesOf(pods: Iterable<NodePod>, isFinished: (podUid: string) => boolean): string[] {
  return [...pods]
    .filter((pod) => !(isClusterPod(pod) && isFinished(pod.metadata.uid)))
    .flatMap(({ spec }) => imagesOf(spec));
}

function imagesOf({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): string[] {
  return [...initContainers, ...containers, ...ephemeralContainers].map(({ image }) => image);
}
