import { type PodSpec } from '../pod/pod.js';

/** The lists of a pod's spec that its other containers stand in. */
export type SpecialContainers = Pick<PodSpec, 'initContainers' | 'ephemeralContainers'>;

/**
 * What an event about a container has in involvedObject.fieldPath; undefined for one about its pod. Without the spec of its
 * pod, a container counts as a regular one.
 */
export function containerFieldPath(
  container: string | undefined,
  { initContainers = [], ephemeralContainers = [] }: SpecialContainers = {},
): string | undefined {
  if (container === undefined) return undefined;
  const isIn = (list: readonly { readonly name: string }[]): boolean =>
    list.some(({ name }) => name === container);
  if (isIn(initContainers)) return `spec.initContainers{${container}}`;
  if (isIn(ephemeralContainers)) return `spec.ephemeralContainers{${container}}`;
  return `spec.containers{${container}}`;
}
