import { type PodSpec } from '../pod/pod.js';

/** The lists of containers in a pod's spec other than the regular one. */
export type SpecialContainers = Pick<PodSpec, 'initContainers' | 'ephemeralContainers'>;

/**
 * The involvedObject.fieldPath of an event about a container; undefined for an event about its pod.
 *
 * Without the spec of its pod, a container counts as a regular one.
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
