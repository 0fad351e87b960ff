import { statfs } from 'node:fs/promises';
import type { SupplyReaders } from '#cluster';
import { type Supplies, type Supply } from '#kube/node/node-supplies.js';
import { readNodeRoom } from '../../resources/stats/node-usage.js';
import { type PodCgroups } from '../../resources/cgroups/pod-cgroups.js';
import { type ImageDisk } from '../../resources/eviction/pods/image-disk.js';

/** What {@link buildSupplyReaders} needs. */
export interface SupplyReadersOptions {
  readonly rootDir: string;
  /** Where images and the writable layers of containers are, as the runtime reports. */
  readonly imageDisk: Pick<ImageDisk, 'mounts'>;
  /** What all pods together may still use, where they are limited. */
  readonly cgroups: Pick<PodCgroups, 'memoryRoom'>;
}

/** Reads the free memory, disk and process ids of the node, from which pressure is computed. */
export function buildSupplyReaders({ rootDir, imageDisk, cgroups }: SupplyReadersOptions): SupplyReaders {
  return {
    'memory and process ids': async () => await readMemory(),
    'memory of all pods': () =>
      new Promise((resolve) => {
        const room = cgroups.memoryRoom();
        resolve(room === undefined ? {} : { 'allocatableMemory.available': room });
      }),
    'the disk of the root folder': async () => {
      const { space, inodes } = await readDisk(rootDir);
      return { 'nodefs.available': space, ...(inodes && { 'nodefs.inodesFree': inodes }) };
    },
    'the disk of images': async (signal) => {
      // Cached after the first time, so that no reading waits for a runtime.
      const { images, containers } = await imageDisk.mounts(signal);
      return {
        ...(await readImageDisk(images, 'imagefs')),
        ...(await readImageDisk(containers, 'containerfs')),
      };
    },
  };
}

async function readImageDisk(path: string | undefined, name: 'imagefs' | 'containerfs'): Promise<Supplies> {
  if (path === undefined) return {};
  const { space, inodes } = await readDisk(path);
  return { [`${name}.available`]: space, ...(inodes && { [`${name}.inodesFree`]: inodes }) };
}

async function readMemory(): Promise<Supplies> {
  const { memory, tasks, taskLimit } = await readNodeRoom();
  return {
    ...(memory === undefined
      ? {}
      : {
          'memory.available': {
            available: BigInt(memory.availableBytes),
            capacity: BigInt(memory.capacityBytes),
          },
        }),
    ...(tasks === undefined || taskLimit === undefined
      ? {}
      : { 'pid.available': { available: BigInt(taskLimit - tasks), capacity: BigInt(taskLimit) } }),
  };
}

/** Inodes are undefined on a file system that creates them on demand. */
async function readDisk(
  path: string,
): Promise<{ readonly space: Supply; readonly inodes: Supply | undefined }> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path, { bigint: true });
  return {
    space: { available: bsize * bavail, capacity: bsize * blocks },
    inodes: files === 0n ? undefined : { available: ffree, capacity: files },
  };
}
