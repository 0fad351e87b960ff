import { type Container } from '#kube/container/container.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { type Pod } from '#kube/pod/pod.js';
import { amountOf } from './quality-of-service.js';

/** How a node protects the memory of containers, and slows those down that use much; on cgroup v2 alone. */
export interface MemoryQos {
  /** Whether the kernel keeps the memory that containers request for them. */
  readonly isReserved: boolean;
  /** Where between request and limit the kernel begins to slow a container down, from above 0 to 1; undefined: nowhere. */
  readonly throttlingFactor: number | undefined;
  /** What all pods may use together: stands for the limit of a container without one. */
  readonly allocatableBytes: bigint;
}

const MIN_FILE = 'memory.min';
const LOW_FILE = 'memory.low';
const HIGH_FILE = 'memory.high';

/** The files of a container's cgroup for its memory, with what is to be in them. Pure. Source: KEP-2570. */
export function computeMemoryQos(
  pod: Pod,
  container: Container,
  { memoryQos, pageSizeBytes }: { readonly memoryQos: MemoryQos; readonly pageSizeBytes: number },
): Readonly<Record<string, string>> {
  const request = amountOf(container, 'requests', 'memory');
  const limit = amountOf(container, 'limits', 'memory');
  const kept = memoryQos.isReserved ? request : 0n;
  const isGuaranteed = computePodQos(pod.spec) === 'Guaranteed';
  return {
    [MIN_FILE]: String(isGuaranteed ? kept : 0n),
    [LOW_FILE]: String(isGuaranteed ? 0n : kept),
    [HIGH_FILE]: computeHigh(request, limit, memoryQos, BigInt(pageSizeBytes)),
  };
}

function computeHigh(
  request: bigint,
  limit: bigint,
  { throttlingFactor, allocatableBytes }: MemoryQos,
  pageBytes: bigint,
): string {
  if (throttlingFactor === undefined || (request === limit && request > 0n)) return 'max';
  const most = limit === 0n ? allocatableBytes : limit;
  const high = Number(request) + Number(most - request) * throttlingFactor;
  const inPages = (BigInt(Math.floor(Math.max(0, high))) / pageBytes) * pageBytes;
  return inPages > request ? String(inPages) : 'max';
}
