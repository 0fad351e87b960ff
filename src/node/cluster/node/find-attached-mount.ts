import { type MountEntry } from '#base/proc/mountinfo.js';

/** Volumes that are created on the node and unknown to the control plane, by the names of their folders. */
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
 * The first mount of a volume that a control plane may have attached to this machine. Pure.
 *
 * It is in the folder of a pod, or where a kubelet has put it for all pods, under any root folder, as that is
 * unknown here.
 */
export function findAttachedMount(mounts: readonly MountEntry[]): MountEntry | undefined {
  return mounts.find(({ mountPoint }) => OF_PODS.test(`${mountPoint}/`) || OF_KUBELET.test(mountPoint));
}
