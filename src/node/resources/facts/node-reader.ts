import { arch, release } from 'node:os';
import { formatRuntimeVersion } from '#watch';
import { type ServedNode } from '../../api/node/serve-node.js';
import { type NodeCapacity } from '../../pods/admission/admit-pod.js';
import { type NodeIdentity } from './node-identity.js';
import { type AllocatableResources } from './allocatable-resources.js';

/** What {@link nodeReader} needs. */
export interface NodeReaderOptions {
  readonly identity: Pick<NodeIdentity, 'name' | 'ips'>;
  readonly room: Pick<AllocatableResources, 'current' | 'whole'>;
  /** Why no pod is synced now; empty when pods are synced. */
  readonly problems: () => readonly string[];
  readonly runtime: { readonly name: string; readonly version: string };
  readonly createdAtMs: number;
}

/** Returns the API's view of the node, as of the call. */
export function nodeReader(options: NodeReaderOptions): () => ServedNode {
  const { identity, room, problems, runtime, createdAtMs } = options;
  return () => ({
    ...{ name: identity.name, createdAtMs },
    capacity: toAmounts(room.whole()),
    allocatable: toAmounts(room.current()),
    ips: identity.ips(),
    problems: problems(),
    containerRuntimeVersion: formatRuntimeVersion(runtime.name, runtime.version),
    kernelVersion: release(),
    architecture: ARCHITECTURES[arch()] ?? arch(),
  });
}

function toAmounts({ pods, cpuMilli, memoryBytes }: NodeCapacity): ServedNode['capacity'] {
  const cpu = cpuMilli % 1_000n === 0n ? String(cpuMilli / 1_000n) : `${cpuMilli}m`;
  return { cpu, memory: `${memoryBytes / 1_024n}Ki`, pods: String(pods) };
}

/** Go's names of architectures, as Kubernetes uses them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
