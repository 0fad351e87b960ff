import { type OpenedPlace } from '#base/fs/open-below.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { type PodVolume, type VolumeKind } from '../volume-kind.js';

/** Where claims are found. */
export interface ClaimKinds {
  /** For pods of manifests. */
  readonly ofNode: VolumeKind;
  /** For pods of an API server; undefined for an agent without a cluster. */
  readonly ofCluster: VolumeKind | undefined;
}

/** The claims of pods, each looked for where the pod came from. */
export function claimsOf({ ofNode, ofCluster }: ClaimKinds): VolumeKind {
  const kindOf = ({ pod }: PodVolume): VolumeKind =>
    ofCluster !== undefined && isClusterPod(pod) ? ofCluster : ofNode;
  // Both are opened, or neither: that is up to the node's policy.
  const open = async (work: PodVolume): Promise<OpenedPlace> => kindOf(work).open!(work);
  return {
    folderName: undefined,
    setUp: async (work, signal) => kindOf(work).setUp(work, signal),
    isReady: async (work) => kindOf(work).isReady(work),
    hostPathOf: (work) => kindOf(work).hostPathOf(work),
    open: ofNode.open === undefined ? undefined : open,
    forget: (podUid) => {
      ofNode.forget?.(podUid);
      ofCluster?.forget?.(podUid);
    },
  };
}
