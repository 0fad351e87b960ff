import { type ContainerUse, type PodUse } from '../model/pod-use.js';
import { logUse } from './disk-usages.js';
import { type LookedContainer, type LookedPod } from './usage-looks.js';

/** What {@link measurePodUses} looks at. */
export interface PodUsesScene {
  readonly pods: readonly LookedPod[];
  /** The folder of pods' logs; absolute. Undefined: nobody looks at them. */
  readonly logsDir: string | undefined;
  /** What a pod's emptyDirs take of the disk; without what is not known. */
  readonly volumesOf: (podUid: string) => Pick<PodUse, 'volumeBytes' | 'volumeInodes'>;
}

/** What each pod that runs uses of memory, disks and process ids, by uid. Rejects with the signal's reason alone. */
export async function measurePodUses(
  { pods, logsDir, volumesOf }: PodUsesScene,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodUse>> {
  const uses = new Map<string, PodUse>();
  for (const { uid, memory, processes, containers } of pods) {
    signal.throwIfAborted();
    uses.set(uid, {
      memoryBytes: memory?.workingSetBytes,
      processes,
      containers: await Promise.all(containers.map(async (each) => measureContainer(each, logsDir))),
      ...volumesOf(uid),
    });
  }
  return uses;
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
