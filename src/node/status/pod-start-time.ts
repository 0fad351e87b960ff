import { ANNOTATIONS, type PodStatus } from '#watch';

/**
 * Since when a pod is on this node, in milliseconds since the epoch; undefined when the runtime has nothing
 * of it.
 *
 * It comes from the annotation podloop.dev/pod-start-time, which is passed on from sandbox to sandbox,
 * otherwise from the creation of the oldest remaining sandbox or container.
 */
export function findPodStartMs({ sandboxes, containers }: PodStatus): number | undefined {
  const written = sandboxes
    .map(({ annotations }) => Date.parse(annotations[ANNOTATIONS.podStartTime] ?? ''))
    .filter((ms) => !Number.isNaN(ms));
  if (written.length > 0) return Math.min(...written);
  const created = [...sandboxes, ...containers]
    .map(({ createdAtNs }) => createdAtNs)
    .filter((ns) => ns > 0n)
    .map((ns) => Number(ns / 1_000_000n));
  return created.length === 0 ? undefined : Math.min(...created);
}
