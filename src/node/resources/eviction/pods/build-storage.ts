import { type Publisher } from '#base/channels/publishing-channel.js';
import { type CriClient, CriPodUsage, type PodCache, type PodPaths } from '#watch';
import { StorageLimits } from '../storage-limits.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readNodeUsage } from '../../stats/node-usage.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type EmptyDirLimits } from '../../../volumes/empty-dir-limits.js';
import { FolderCounts } from '../../../volumes/folder-counts.js';
import { countInodes, measureFolder } from '../../../volumes/measure-folder.js';
import { type PodVolumes } from '../../../volumes/pod-volumes.js';
import { type AgentOptions } from '../../../options/agent-options.js';
import { buildPodFiles } from '../../../parts/build-pod-files.js';
import { buildVolumeLimits } from '../../../parts/build-volumes.js';
import { ImageDisk } from './image-disk.js';
import { type PodEvictor } from './pod-evictor.js';
import { PodUses } from './pod-uses.js';

/** What {@link buildStorage} needs. */
export interface StorageOptions extends Publisher {
  readonly options: Pick<AgentOptions, 'rootDir'>;
  readonly client: CriClient;
  readonly cache: Pick<PodCache, 'getLastKnown'>;
  readonly paths: PodPaths;
  readonly volumes: PodVolumes;
  /** Every desired pod. */
  readonly pods: () => Iterable<NodePod>;
  readonly evictor: PodEvictor;
  /** Ends work in the background. */
  readonly ending: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Measures how much pods use, and ends those that exceed their limits of disk usage. */
export interface Storage {
  readonly uses: PodUses;
  readonly imageDisk: ImageDisk;
  readonly storageLimits: StorageLimits;
  readonly volumeLimits: EmptyDirLimits;
}

const CALL_TIMEOUT_MS = 5_000;

/** Builds them. The runtime is called only when a pod may have to end for its usage. */
export function buildStorage(given: StorageOptions): Storage {
  const { options, client, cache, paths, volumes, pods, evictor, ending, channels, clock, logger } = given;
  const usage = new CriPodUsage({ client, timeoutMs: CALL_TIMEOUT_MS });
  const counts = new FolderCounts({
    ...{ ending, clock },
    measure: async (path, signal) => measureFolder(path, signal, channels),
  });
  const uses = new PodUses({
    ...{ usage, cache, pods, ending, clock, logger, readNode: readNodeUsage, logsDir: paths.podLogsDir },
    files: buildPodFiles({ client, paths, ending }),
    folderOf: (pod, volume) => volumes.hostPathOf(pod, volume),
    measureFolder: async (path, signal) => counts.count(path, signal),
    countInodes: async (path, signal) => countInodes(path, signal, channels),
  });
  const imageDisk = new ImageDisk({ rootDir: options.rootDir, usage });
  const storageLimits = new StorageLimits({
    pods: () => [...pods()].filter((pod) => evictor.isHeldToLimits(pod)),
    measurePods: async (limited, signal) => uses.measure(limited, { logs: true, volumes: 'bytes' }, signal),
    hasImageDisk: async (signal) => imageDisk.isOwn(signal),
    evict: (pod, eviction) => evictor.evict(pod, eviction),
    ...{ clock, logger },
  });
  const volumeLimits = buildVolumeLimits({ volumes, pods, evictor, counts, clock, logger });
  return { uses, imageDisk, storageLimits, volumeLimits };
}
