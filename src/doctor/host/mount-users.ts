import { type PodRef } from '#kube/pod/pod-ref.js';
import { parseMountOrigins } from '#base/proc/mountinfo.js';
import { type HostFiles } from '../facts/host-files.js';
import { type ProcessOwners } from './process-owners.js';

/** The pods with a container that has a file system mounted. @param device `major:minor`, as in a mountinfo file */
export async function findMountUsers(
  files: HostFiles,
  device: string,
  owners: ProcessOwners,
): Promise<PodRef[]> {
  const pods = new Map<string, PodRef>();
  for (const { pid } of owners.listInits()) {
    const mounts = parseMountOrigins((await files.find(`/proc/${pid}/mountinfo`)) ?? '');
    if (!mounts.some((mount) => mount.device === device)) continue;
    const { pod } = await owners.find(pid);
    if (pod !== undefined) pods.set(`${pod.namespace}/${pod.name}`, pod);
  }
  return [...pods.values()];
}
