import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';

/**
 * The names of images that desired pods are going to use. Pure.
 *
 * A pod of a cluster that has ended for good starts nothing any more; a pod of a manifest may be edited and
 * runs again then.
 */
export function desiredImagesOf(pods: Iterable<NodePod>, isFinished: (podUid: string) => boolean): string[] {
  return [...pods]
    .filter((pod) => !(isClusterPod(pod) && isFinished(pod.metadata.uid)))
    .flatMap(({ spec }) => imagesOf(spec));
}

function imagesOf({
  initContainers = [],
  containers,
  ephemeralContainers = [],
  volumes = [],
}: PodSpec): string[] {
  return [
    ...[...initContainers, ...containers, ...ephemeralContainers].map(({ image }) => image),
    ...volumes.flatMap(({ image }) => image?.reference ?? []),
  ];
}
