import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { heldName } from './held.js';
import { type SourceObject } from '../manifests/source-object.js';
import { type SourcePod } from '../manifests/source-pod.js';

/** The pods and objects of a file. */
export interface Holding {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
}

/** For a file that was never good. */
export const NOTHING: Holding = { pods: [], objects: [] };

/** The full names of everything in it, for messages. */
export function holdingNames({ pods, objects }: Holding): string[] {
  return [...pods, ...objects].map(heldName);
}

/** Whether both have the same contents, wherever they are written. */
export function isSameHolding(one: Holding, other: Holding): boolean {
  if (one === other) return true;
  return (
    one.pods.length === other.pods.length &&
    one.pods.every(({ pod }, index) => isSamePod(pod, other.pods[index]!.pod)) &&
    one.objects.length === other.objects.length &&
    one.objects.every(({ written }, index) => written === other.objects[index]!.written)
  );
}

function isSamePod({ metadata: one }: NodePod, { metadata: other }: NodePod): boolean {
  const hashOf = ({ annotations }: NodePod['metadata']): string | undefined =>
    annotations?.[STATIC_POD_ANNOTATIONS.manifestHash];
  return one.uid === other.uid && one.name === other.name && hashOf(one) === hashOf(other);
}
