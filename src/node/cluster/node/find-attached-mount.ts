import { type MountEntry } from '#base/proc/mountinfo.js';

/** Volumes that are made on the node and of which the control plane knows nothing, by the names of their folders. */
const OF_THE_NODE = [
  ...['configmap', 'downward-api', 'empty-dir', 'git-repo', 'host-path', 'image', 'local-volume'],
  ...['projected', 'secret'],
];
const OF_PODS = new RegExp(
  `/pods/[^/]+/volumes/(?!kubernetes\\.io~(?:${OF_THE_NODE.join('|')})(?:/|$))[^/]+~[^/]+/`,
);
/** Where a kubelet mounts a volume once for all of its pods. */
const OF_KUBELET = /\/plugins\/kubernetes\.io\//;

/**
 * The first mount of a volume that a control plane may have attached to this machine: in the folder of a pod, or where a kubelet has
 * put it for all pods. Wherever its root folder is, as that is nobody's to tell here. Pure.
 */
export function findAttachedMount(mounts: readonly MountEntry[]): MountEntry | undefined {
  return mounts.find(({ mountPoint }) => OF_PODS.test(`${mountPoint}/`) || OF_KUBELET.test(mountPoint));
}
