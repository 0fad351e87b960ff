import { type ContainerUse, type PodUse } from '#kube/pod/pod-use.js';
import { logUse } from './disk-usages.js';
import { type FilesUse, type PodFilesUse } from './pod-files.js';
import { type LookedContainer, type LookedPod } from './usage-looks.js';

/** Inputs of {@link measurePodUses}. */
export interface PodUsesHarness {
  readonly pods: readonly LookedPod[];
  /** The folder of pods' logs; absolute. Undefined: logs are not measured. */
  readonly logsDir: string | undefined;
  /** The disk usage of a pod's emptyDirs, as far as known. */
  readonly volumesOf: (podUid: string) => Pick<PodUse, 'volumeBytes' | 'volumeInodes'>;
  /** Counts the other files of a pod; called when logs are measured. */
  readonly filesOf: (pod: LookedPod) => Promise<PodFilesUse>;
}

/**
 * The usage of memory, disks and process ids of each running pod, by uid. Rejects only with the signal's
 * reason.
 */
export async function measurePodUses(
  { pods, logsDir, volumesOf, filesOf }: PodUsesHarness,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodUse>> {
  const uses = new Map<string, PodUse>();
  for (const pod of pods) {
    signal.throwIfAborted();
    const { uid, memory, processes, containers } = pod;
    const files = logsDir === undefined ? undefined : await filesOf(pod);
    const measured = containers.map(async (each) => ({
      ...(await measureContainer(each, logsDir)),
      ...toFileUse(files?.containers.get(each.name)),
    }));
    uses.set(uid, {
      memoryBytes: memory?.workingSetBytes,
      processes,
      containers: await Promise.all(measured),
      ...volumesOf(uid),
      ...toFileUse(files && sharedFiles(files, new Set(containers.map(({ name }) => name)))),
    });
  }
  return uses;
}

function toFileUse(use: FilesUse | undefined): Pick<PodUse, 'fileBytes' | 'fileInodes'> {
  return use === undefined ? {} : { fileBytes: use.bytes, fileInodes: use.inodes };
}

/** Includes files of ended containers: they use the disk, too, and the pod's limit covers everything. */
function sharedFiles({ pod, containers }: PodFilesUse, running: ReadonlySet<string>): FilesUse {
  let { bytes, inodes } = pod;
  for (const [name, use] of containers) {
    if (running.has(name)) continue;
    bytes += use.bytes;
    inodes += use.inodes;
  }
  return { bytes, inodes };
}

async function measureContainer(
  { name, memory, writableLayer, status }: LookedContainer,
  logsDir: string | undefined,
): Promise<ContainerUse> {
  const logs = logsDir === undefined ? undefined : await logUse(status?.logPath ?? '', logsDir, undefined);
  return {
    name,
    memoryBytes: memory?.workingSetBytes,
    writtenBytes: writableLayer?.usedBytes,
    writtenInodes: writableLayer?.inodesUsed,
    logBytes: logs?.usedBytes,
    logInodes: logs?.inodesUsed,
  };
}
