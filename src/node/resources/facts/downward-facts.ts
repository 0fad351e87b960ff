import { statfs } from 'node:fs/promises';
import { type DownwardFieldFacts } from '#kube/objects/downward-field.js';
import { type DownwardResourceFacts, type NodeAllocatable } from '#kube/objects/downward-resource.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { choosePodIps } from '../../status/pod-ips.js';

/** What the downward API shows of the node. */
export interface DownwardNode {
  readonly name: string;
  /** The first is the node's own; empty if it has none. */
  readonly hostIps: readonly string[];
  readonly allocatable: NodeAllocatable;
}

/** Kubernetes gives this account to pods that name none. */
const SERVICE_ACCOUNT = 'default';

/**
 * What containers and files of a pod may show of it. Pure.
 *
 * `sandboxIps` come from the runtime. A pod on the host's network has the host's addresses.
 */
export function computeDownwardFacts(
  { spec }: NodePod,
  sandboxIps: readonly string[],
  { name, hostIps, allocatable }: DownwardNode,
): DownwardFieldFacts & DownwardResourceFacts {
  const podIps = spec.hostNetwork === true ? hostIps : choosePodIps(sandboxIps, hostIps);
  const { serviceAccountName = SERVICE_ACCOUNT } = spec;
  return { podIps, hostIps, nodeName: name, serviceAccountName, allocatable };
}

/** The size of a folder's file system, in bytes; undefined when unknown. */
export async function findDiskBytes(folder: string): Promise<bigint | undefined> {
  try {
    const { blocks, bsize } = await statfs(folder, { bigint: true });
    return blocks * bsize;
  } catch {
    return undefined;
  }
}
