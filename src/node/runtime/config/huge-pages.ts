import { type Container } from '#kube/container/container.js';
import { getQuantity, toWholeUnits } from '#kube/fields/quantity.js';

const PREFIX = 'hugepages-';
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A container's limit for huge pages of one size, in CRI's form. */
export interface HugepageLimit {
  /** `2MB`. */
  readonly pageSize: string;
  readonly limit: bigint;
}

/** A container's limits for huge pages: its own, and 0 for every other size that the node has. Pure. */
export function computeHugepageLimits(
  { resources }: Pick<Container, 'resources'>,
  nodeSizes: readonly bigint[],
): readonly HugepageLimit[] {
  const asked = Object.entries(resources?.limits ?? {})
    .filter(([name]) => name.startsWith(PREFIX))
    .map(([name, amount]): [bigint, bigint] => [
      toWholeUnits(getQuantity(name.slice(PREFIX.length))),
      toWholeUnits(getQuantity(amount)),
    ]);
  const limits = new Map([...nodeSizes.map((size): [bigint, bigint] => [size, 0n]), ...asked]);
  return [...limits].map(([size, limit]) => ({ pageSize: nameSize(size), limit }));
}

/**
 * The size in a name such as `hugepages-2048kB`, as the kernel's folders have it, in bytes; undefined for
 * others.
 */
export function parseHugepageFolder(name: string): bigint | undefined {
  const kilobytes = /^hugepages-(\d{1,15})kB$/.exec(name)?.[1];
  return kilobytes === undefined ? undefined : BigInt(kilobytes) * 1024n;
}

function nameSize(bytes: bigint): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1024n && size % 1024n === 0n && unit < UNITS.length - 1) {
    size /= 1024n;
    unit++;
  }
  return `${size}${UNITS[unit]!}`;
}
