import { type Publisher } from '#base/channels/publishing-channel.js';
import { type CriClient, type IsOurs, type PodPaths, type Runtime } from '#watch';
import { ContainerCollector } from '../resources/gc/container-collector.js';
import { diskUsageAt } from '../resources/gc/disk-usage.js';
import {
  ImageCollector,
  type ImageRecords,
  type ImageUser,
  type ImageEvent,
} from '../resources/gc/image-collector.js';
import { type DiskUsage } from '../resources/gc/image-plan.js';
import { LogRotator } from '../resources/gc/log-rotator.js';
import { type LastKnownPods, type ObservedPods } from '../resources/gc/observed-pods.js';
import { PodFolderCollector } from '../resources/gc/pod-folder-collector.js';
import { type PulledImages } from '../resources/gc/pulled-images.js';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type PodVolumes } from '../volumes/pod-volumes.js';
import { type AgentOptions } from '../options/agent-options.js';

/** What {@link buildCollectors} needs. */
export interface CollectorsOptions extends Publisher {
  readonly options: AgentOptions;
  readonly isOurs: IsOurs;
  readonly client: CriClient;
  readonly runtime: Runtime;
  readonly changes: RuntimeChanges;
  readonly pods: ObservedPods & LastKnownPods;
  readonly pulled: PulledImages;
  readonly pullRecords: ImageRecords;
  readonly volumes: PodVolumes;
  readonly paths: PodPaths;
  /** Whether nobody wants a pod any more and nothing of it runs. */
  readonly mayRemove: (podUid: string) => boolean;
  readonly hasSeenPods: () => boolean;
  readonly desiredImages: () => Iterable<string>;
  readonly onNodeEvent: (event: ImageEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Everything that cleans up after pods. */
export interface Collectors {
  readonly containers: ContainerCollector;
  readonly folders: PodFolderCollector;
  readonly logs: LogRotator;
  readonly images: ImageCollector;
}

/** Builds the collectors of a node: of owned dead containers, folders, logs and images. */
export function buildCollectors(given: CollectorsOptions): Collectors {
  const { options, client, changes, pods, paths, clock, logger } = given;
  const common = { clock, logger, pods, changes, isOurs: given.isOurs };
  return {
    containers: new ContainerCollector({
      ...common,
      paths,
      mayRemove: given.mayRemove,
      policy: {
        minAgeMs: options.minimumContainerTtlMs,
        maxPerPodContainer: options.maximumDeadContainersPerContainer,
        maxContainers: options.maximumDeadContainers,
      },
    }),
    folders: new PodFolderCollector({
      ...{ channels: given.channels, clock, paths, pods, logger, runtime: given.runtime },
      ...(options.containerLogLinksDir === '' ? {} : { containerLogLinksDir: options.containerLogLinksDir }),
      tearDownVolumes: async (uid) => given.volumes.tearDown({ metadata: { uid } }),
    }),
    logs: new LogRotator({
      ...common,
      podLogsDir: options.podLogsDir,
      maxSizeBytes: options.containerLogMaxSizeBytes,
      maxFiles: options.containerLogMaxFiles,
      periodMs: options.containerLogMonitorIntervalMs,
    }),
    images: new ImageCollector({
      ...{ clock, logger, pods, changes, pulled: given.pulled, records: given.pullRecords },
      channels: given.channels,
      hasSeenPods: given.hasSeenPods,
      desiredImages: given.desiredImages,
      onEvent: given.onNodeEvent,
      listContainers: async (signal) => listImageUsers(client, signal),
      diskUsage: async (signal) => readImageDisk(client, signal),
      policy: {
        highThresholdPercent: options.imageGcHighThreshold,
        lowThresholdPercent: options.imageGcLowThreshold,
        minAgeMs: options.imageMinimumGcAgeMs,
        maxAgeMs: options.imageMaximumGcAgeMs,
      },
    }),
  };
}

/** All containers of the runtime, whoever created them. */
async function listImageUsers(client: CriClient, signal: AbortSignal): Promise<readonly ImageUser[]> {
  const { containers } = await client.listContainers({}, { signal });
  return containers.map(({ image, imageRef, imageId }) => ({ image: image?.image ?? '', imageRef, imageId }));
}

/** The disk on which the runtime reports its images. */
async function readImageDisk(client: CriClient, signal: AbortSignal): Promise<DiskUsage> {
  const { imageFilesystems } = await client.imageFsInfo({}, { signal });
  const mountpoint = imageFilesystems[0]?.fsId?.mountpoint;
  if (mountpoint === undefined) throw new Error('the runtime does not say where its images are');
  return diskUsageAt(mountpoint);
}
