import { type RuntimeImage } from '../../runtime/runtime-changes.js';
import { type PulledImage } from './pulled-images.js';

/** When to remove images, and how many. */
export interface ImagePolicy {
  /** Removal starts when the disk is this full, in percent. 100 switches it off. */
  readonly highThresholdPercent: number;
  /** Removal stops when the disk is no fuller than this. */
  readonly lowThresholdPercent: number;
  /** Images that were pulled less than this many milliseconds ago stay, as they may be about to be used. */
  readonly minAgeMs: number;
  /** Images that were unused for longer go, however empty the disk is (default: 0, for no limit). */
  readonly maxAgeMs?: number;
}

/** The kubelet's. */
export const DEFAULT_IMAGE_POLICY: ImagePolicy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 2 * 60_000,
};

/** The disk of the images. */
export interface DiskUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** How full a disk is, in whole percent, as the kubelet counts it. Pure. */
export function usagePercent({ capacityBytes, availableBytes }: DiskUsage): number {
  return 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
}

/** How many bytes to free; 0 while the disk is not too full. Pure. */
export function bytesToFree(usage: DiskUsage, policy: ImagePolicy): number {
  const { highThresholdPercent: high, lowThresholdPercent: low } = policy;
  if (high >= 100 || usage.capacityBytes <= 0 || usagePercent(usage) < high) return 0;
  return Math.max(0, Math.floor((usage.capacityBytes * (100 - low)) / 100) - usage.availableBytes);
}

/**
 * The removable images, least recently used first: pulled by the agent, old enough, unused, and not pinned.
 * Pure.
 */
export function planImageRemovals(
  images: readonly RuntimeImage[],
  pulled: readonly PulledImage[],
  isInUse: (image: RuntimeImage) => boolean,
  minAgeMs: number,
  nowMs: number,
): RuntimeImage[] {
  const ours = new Map(pulled.map((image) => [image.id, image]));
  const lastNeeded = ({ id }: RuntimeImage): number => ours.get(id)!.lastUsedAtMs ?? Number.NEGATIVE_INFINITY;
  return images
    .filter(({ id, pinned }) => ours.has(id) && !pinned)
    .filter((image) => nowMs - ours.get(image.id)!.pulledAtMs >= minAgeMs && !isInUse(image))
    .toSorted(
      (a, b) =>
        compare(lastNeeded(a), lastNeeded(b)) || ours.get(a.id)!.pulledAtMs - ours.get(b.id)!.pulledAtMs,
    );
}

/** Those of a plan that nobody has needed for longer than the limit; none if that is 0. Pure. */
export function findOldImages(
  plan: readonly RuntimeImage[],
  pulled: readonly PulledImage[],
  maxAgeMs: number,
  nowMs: number,
): RuntimeImage[] {
  if (maxAgeMs <= 0) return [];
  const old = pulled.filter(
    ({ pulledAtMs, lastUsedAtMs = pulledAtMs }) => nowMs - Math.max(pulledAtMs, lastUsedAtMs) > maxAgeMs,
  );
  const ids = new Set(old.map(({ id }) => id));
  return plan.filter(({ id }) => ids.has(id));
}

/**
 * All names by which an image may be called. Pure.
 *
 * They are its id with and without the algorithm, its tags and digests, and these in short form, without the
 * default registry, folder and tag.
 */
export function namesOf({ id, tags, digests }: RuntimeImage): string[] {
  const full = [...tags, ...digests];
  const short = full.flatMap((name) => {
    const familiar = name.replace(/^docker\.io\/(library\/)?/, '');
    return [familiar, name.replace(/:latest$/, ''), familiar.replace(/:latest$/, '')];
  });
  return [id, id.replace(/^sha256:/, ''), ...full, ...short].filter((name) => name !== '');
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
