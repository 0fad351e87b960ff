import { ANNOTATIONS, type PodStatus } from '#watch';

/**
 * Since when a pod is on this node, milliseconds since the epoch, as far as the runtime can tell; undefined when nothing
 * of it is there.
 *
 * From the annotation podloop.dev/pod-start-time, which is handed on from sandbox to sandbox; else the creation of the
 * oldest sandbox or container that is left.
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
