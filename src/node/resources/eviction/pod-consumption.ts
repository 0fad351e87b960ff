import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computeOtherRequests, computePodRequests } from '#kube/pod/pod-requests.js';
import { type ContainerUse, type PodUse, type PodUseNeeds } from '#kube/pod/pod-use.js';
import { isAboutDisk, resourceOf } from './eviction-rules.js';

/** Which data of a pod is on the disk of a signal. */
export interface DiskParts {
  readonly logsAndVolumes: boolean;
  /** What containers write outside of their volumes. */
  readonly writtenLayers: boolean;
}

/** If images and writable layers have a disk of their own, that is `imagefs`. Pure. */
export function diskPartsOf(signal: EvictionSignal, hasImageDisk: boolean): DiskParts {
  if (!hasImageDisk) return { logsAndVolumes: true, writtenLayers: true };
  const isNodeDisk = signal.startsWith('nodefs.');
  return { logsAndVolumes: isNodeDisk, writtenLayers: !isNodeDisk };
}

/**
 * What has to be measured on disk to find its users; counting files takes long, so nothing unnecessary. Pure.
 */
export function needsOf(signal: EvictionSignal, { logsAndVolumes }: DiskParts): PodUseNeeds {
  const resource = resourceOf(signal);
  const isOfDisk = isAboutDisk(resource);
  return {
    logs: isOfDisk,
    volumes: isOfDisk && logsAndVolumes && (resource === 'inodes' ? 'inodes' : 'bytes'),
  };
}

/** A pod's usage of a signal's resource, in bytes, inodes or processes; undefined when unknown. Pure. */
export function consumptionOf(signal: EvictionSignal, use: PodUse, parts: DiskParts): number | undefined {
  switch (resourceOf(signal)) {
    case 'memory':
      return use.memoryBytes;
    case 'pids':
      return use.processes ?? 0;
    case 'ephemeral-storage': {
      const volumeBytes = parts.logsAndVolumes ? use.volumeBytes : 0;
      const containerBytes = sumOf(use.containers, ({ writtenBytes, logBytes, fileBytes }) => [
        parts.writtenLayers ? writtenBytes : 0,
        parts.logsAndVolumes ? logBytes : 0,
        parts.logsAndVolumes ? fileBytes : 0,
      ]);
      const sharedBytes = parts.logsAndVolumes ? (use.fileBytes ?? 0) : 0;
      return volumeBytes === undefined ? undefined : containerBytes + sharedBytes + volumeBytes;
    }
    case 'inodes': {
      const volumeInodes = parts.logsAndVolumes ? use.volumeInodes : 0;
      const containerInodes = sumOf(use.containers, ({ writtenInodes, logInodes, fileInodes }) => [
        parts.writtenLayers ? writtenInodes : 0,
        parts.logsAndVolumes ? logInodes : 0,
        parts.logsAndVolumes ? fileInodes : 0,
      ]);
      const sharedInodes = parts.logsAndVolumes ? (use.fileInodes ?? 0) : 0;
      return volumeInodes === undefined ? undefined : containerInodes + sharedInodes + volumeInodes;
    }
  }
}

/** A pod's request for the resource; 0 if it cannot be requested. Pure. */
export function requestOf(signal: EvictionSignal, { spec }: NodePod): number {
  const resource = resourceOf(signal);
  if (resource === 'memory') return Number(computePodRequests(spec).memoryBytes);
  if (resource === 'ephemeral-storage') return Number(computeOtherRequests(spec).get(resource) ?? 0n);
  return 0;
}

function sumOf(
  containers: readonly ContainerUse[],
  amounts: (container: ContainerUse) => readonly (number | undefined)[],
): number {
  return containers.flatMap(amounts).reduce<number>((sum, amount) => sum + (amount ?? 0), 0);
}
