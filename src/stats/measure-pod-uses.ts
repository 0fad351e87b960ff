import { type ContainerUse, type PodUse } from '../model/pod-use.js';
import { logUse } from './disk-usages.js';
import { type LookedContainer, type LookedPod } from './usage-looks.js';
import { EMPTY_DIR_PLUGIN, type VolumeUse } from './volume-usages.js';

/** What {@link measurePodUses} looks at. */
export interface PodUsesScene {
  readonly pods: readonly LookedPod[];
  /** The folder of pods' logs; absolute. */
  readonly logsDir: string;
  readonly volumesOf: (podUid: string) => Promise<readonly VolumeUse[]>;
}

/** What each pod that runs uses of memory, disks and process ids, by uid. Rejects with the signal's reason alone. */
export async function measurePodUses(
  { pods, logsDir, volumesOf }: PodUsesScene,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodUse>> {
  const uses = new Map<string, PodUse>();
  for (const { uid, memory, processes, containers } of pods) {
    signal.throwIfAborted();
    const volumes = await volumesOf(uid);
    uses.set(uid, {
      memoryBytes: memory?.workingSetBytes,
      processes,
      containers: await Promise.all(containers.map(async (each) => measureContainer(each, logsDir))),
      volumeBytes: volumes
        .filter(({ plugin }) => plugin === EMPTY_DIR_PLUGIN)
        .reduce((sum, { disk }) => sum + (disk.usedBytes ?? 0), 0),
    });
  }
  return uses;
}

async function measureContainer(
  { name, memory, writableLayer, status }: LookedContainer,
  logsDir: string,
): Promise<ContainerUse> {
  const logs = await logUse(status?.logPath ?? '', logsDir, undefined);
  return {
    name,
    memoryBytes: memory?.workingSetBytes,
    writtenBytes: writableLayer?.usedBytes,
    writtenInodes: writableLayer?.inodesUsed,
    logBytes: logs?.usedBytes,
    logInodes: logs?.inodesUsed,
  };
}
