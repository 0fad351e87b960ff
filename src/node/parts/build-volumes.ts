import { type Publisher } from '#base/channels/publishing-channel.js';
import { type PodObjects } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type NodePolicy } from '#kube/node/node-policy.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { readOwnMounts } from '#base/proc/mountinfo.js';
import {
  contentVolumeKinds,
  type ContentVolumesOptions,
  type ServiceAccountTokenSource,
} from '../volumes/content/content-volume.js';
import { AllowedHostPaths } from '../volumes/allowed-host-paths.js';
import { BoundedLooks } from '../volumes/bounded-looks.js';
import { ClaimMarks } from '../volumes/claim-marks.js';
import { ClaimedVolumes, type VolumeClaimSource } from '../volumes/claimed-volumes.js';
import { claimsOf } from '../volumes/claims/claims-of.js';
import { EmptyDirLimits } from '../volumes/empty-dir-limits.js';
import { EmptyDir } from '../volumes/empty-dir.js';
import { type FolderCounts } from '../volumes/folder-counts.js';
import { findLookPlace, type LookPlace } from '../volumes/find-look-place.js';
import { HostPath } from '../volumes/host-path.js';
import { type ToolMounter } from '../volumes/mounter.js';
import { countInodes, measureFolder } from '../volumes/measure-folder.js';
import { PodVolumes } from '../volumes/pod-volumes.js';
import { type VolumeKind } from '../volumes/volume-kind.js';
import { ClaimUsages } from '../resources/stats/claim-usages.js';
import { type PodEvictor } from '../resources/eviction/pods/pod-evictor.js';

/** What {@link buildVolumes} needs. */
export interface VolumesOptions extends Publisher {
  readonly podsFolder: string;
  readonly mounter: ToolMounter;
  /** What pods may mount of the node. */
  readonly policy: Pick<NodePolicy, 'allowedHostPaths'>;
  readonly objects: PodObjects;
  readonly downwardFacts: ContentVolumesOptions['downwardFacts'];
  /** The memory that all pods together may use, as of now. */
  readonly memoryBytes: () => bigint;
  /** Whether containers of a pod can have recursive read-only mounts. */
  readonly canMountRecursivelyReadOnly: (pod: NodePod) => boolean;
  /** The claims of pods of manifests. */
  readonly localClaims: VolumeClaimSource;
  /** Where their volumes are: absolute. */
  readonly claimsFolder: string;
  /** The API server; without it there are no tokens, and no claims but those of this node. */
  readonly cluster?: ServiceAccountTokenSource & VolumeClaimSource;
  /** How often claimed volumes are measured, in milliseconds; not above 0: never. */
  readonly statsPeriodMs: number;
  readonly events: PodEventRecorder;
  /** What a pod waited for is available. */
  readonly onReady: (podUid: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The runtime mounts it, by the name of the image, which is pulled before the container is made. */
const IMAGE_VOLUME: VolumeKind = {
  folderName: undefined,
  setUp: async () => Promise.resolve(),
  isReady: async () => Promise.resolve(true),
  hostPathOf: () => '',
  isReadOnly: true,
};

/** Builds the volumes of pods, of every kind that this node supports, and what measures the claimed ones. */
export function buildVolumes(given: VolumesOptions): {
  readonly volumes: PodVolumes;
  readonly claimUsages: ClaimUsages;
} {
  const { podsFolder, mounter, policy, objects, downwardFacts, memoryBytes, events, onReady } = given;
  const { canMountRecursivelyReadOnly, localClaims, claimsFolder, cluster, statsPeriodMs } = given;
  const { channels, clock, logger } = given;
  const allowed = policy.allowedHostPaths && new AllowedHostPaths(policy.allowedHostPaths);
  const findPlace = async (path: string): Promise<LookPlace> => findLookPlace(path, await readOwnMounts());
  const looks = new BoundedLooks({ clock, findPlace });
  const ports = { mounter, readMounts: readOwnMounts, looks };
  const hostPath = new HostPath({ looks, allowed });
  const emptyDir = new EmptyDir({
    ...ports,
    get memoryBytes() {
      return memoryBytes();
    },
  });
  const marks = new ClaimMarks(podsFolder);
  const ofCluster = cluster && new ClaimedVolumes({ claims: cluster, hostPath, marks, events });
  // The agent's own folders are no paths that a node may forbid, and opened like those that it allows.
  const ownPaths = [{ path: claimsFolder, readOnly: false }];
  const own = new HostPath({ looks, allowed: allowed && new AllowedHostPaths(ownPaths) });
  const ofNode = new ClaimedVolumes({ claims: localClaims, hostPath: own, marks, events });
  const claimUsages = new ClaimUsages({
    ...{ looks, clock, periodMs: statsPeriodMs },
    claimed: () => ({ ofNode: ofNode.list(), ofCluster: ofCluster?.list() ?? [] }),
    measureFolder: async (path, signal) => measureFolder(path, signal, channels),
    countInodes: async (path, signal) => countInodes(path, signal, channels),
  });
  const volumes = new PodVolumes({
    ...{ ...ports, podsFolder, events, channels, clock, logger, onReady, canMountRecursivelyReadOnly },
    kinds: {
      ...{ emptyDir, hostPath, image: IMAGE_VOLUME },
      ...contentVolumeKinds({
        ...{ objects, downwardFacts, clock, logger, mounter },
        ...(cluster && { tokens: cluster }),
      }),
      persistentVolumeClaim: claimsOf({ ofNode, ofCluster }),
      ...(ofCluster && { ephemeral: ofCluster }),
    },
  });
  return { volumes, claimUsages };
}

/** What {@link buildVolumeLimits} needs. */
export interface VolumeLimitsOptions {
  readonly volumes: PodVolumes;
  /** Every desired pod. */
  readonly pods: () => Iterable<NodePod>;
  readonly evictor: PodEvictor;
  readonly counts: FolderCounts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Builds the part that evicts pods whose emptyDirs exceed their limits. */
export function buildVolumeLimits(given: VolumeLimitsOptions): EmptyDirLimits {
  const { volumes, pods, evictor, counts, clock, logger } = given;
  return new EmptyDirLimits({
    ...{ clock, logger },
    pods: () => [...pods()].filter((pod) => evictor.isHeldToLimits(pod)),
    folderOf: (pod, volume) => volumes.hostPathOf(pod, volume),
    evict: (pod, message) => evictor.evict(pod, { signal: 'emptydirfs.limit', message }),
    measure: async (folder, signal) => counts.count(folder, signal),
  });
}
