import { type Container } from '../container/container.js';
import { type ResourceFieldSelector } from './env-source.js';
import { type Pod } from '../pod/pod.js';
import { getQuantity, type Quantity } from '../fields/quantity.js';

/** What pods together may use of the node. */
export interface NodeAllocatable {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  /** Undefined if it is not known. */
  readonly ephemeralStorageBytes?: bigint;
}

/** The defaults of missing limits. */
export interface DownwardResourceFacts {
  readonly allocatable: NodeAllocatable;
}

const NANOS = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;
/** Kubernetes counts in an int64. */
const MOST = 2n ** 63n - 1n;
const ONE: Quantity = { nanos: NANOS, format: 'DecimalSI' };

/**
 * A container's limit or request for a variable or a file, divided by the selector's divisor and rounded up.
 * Pure.
 *
 * A limit that is missing or 0 is what the node can provide; a missing request is 0. Throws RangeError for a
 * resource that the downward API does not have, which validation of manifests prevents.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#downwardapi-resourceFieldRef
 */
export function resourceValue(
  { resources = {} }: Container,
  { resource, divisor }: ResourceFieldSelector,
  { allocatable }: DownwardResourceFacts,
): string {
  const [, side, name = ''] = /^(limits|requests)\.(.+)$/.exec(resource) ?? [];
  const isKnown = ['cpu', 'memory', 'ephemeral-storage'].includes(name) || name.startsWith('hugepages-');
  if (side === undefined || !isKnown) throw new RangeError(`unsupported container resource: ${resource}`);
  const list = side === 'limits' ? resources.limits : resources.requests;
  const own = list !== undefined && Object.hasOwn(list, name) ? getQuantity(list[name]!).nanos : 0n;
  const amount = own === 0n && side === 'limits' ? allocatableNanos(allocatable, name) : own;
  return countIn(amount, divisor).toString();
}

/** The container that a selector refers to (default: `own`). */
export function selectContainer(
  { spec }: Pod,
  { containerName }: ResourceFieldSelector,
  own?: Container,
): Container | undefined {
  if (containerName === undefined) return own;
  return [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === containerName);
}

function countIn(nanos: bigint, divisor: string | undefined): bigint {
  const told = divisor === undefined ? ONE : getQuantity(divisor);
  const by = told.nanos === 0n ? NANOS : told.nanos;
  if (nanos <= 0n || by < 0n) return 0n;
  const count = (nanos + by - 1n) / by;
  return count > MOST ? MOST : count;
}

function allocatableNanos(
  { cpuMilli, memoryBytes, ephemeralStorageBytes }: NodeAllocatable,
  name: string,
): bigint {
  switch (name) {
    case 'cpu':
      return cpuMilli * NANOS_PER_MILLI;
    case 'memory':
      return memoryBytes * NANOS;
    case 'ephemeral-storage':
      return (ephemeralStorageBytes ?? 0n) * NANOS;
    default:
      // Huge pages are never overcommitted: without a limit there are none.
      return 0n;
  }
}
