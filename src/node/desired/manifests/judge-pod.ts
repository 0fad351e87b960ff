import { isDeepStrictEqual } from 'node:util';
import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';

/** What became of a pod between two deliveries: `reconcile` when only the status on record is another. */
export type PodVerdict = 'same' | 'changed' | 'reconcile';

/** Compares a pod that is known with its next version. Pure. Both have the same uid and name. */
export type PodJudge = (known: NodePod, next: NodePod) => PodVerdict;

/**
 * For pods of manifests: by the hash of what was written, so that what a newer podloop fills in changes nothing. A pod
 * without that hash is compared as {@link judgeByContent} does.
 */
export const judgeByManifest: PodJudge = (known, next) => {
  const [one, other] = [known, next].map(
    ({ metadata }) => metadata.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash],
  );
  if (one === undefined && other === undefined) return judgeByContent(known, next);
  return one === other && hasSameEnd(known, next) ? 'same' : 'changed';
};

/** Whether it is to end or not, and how: what somebody says beside the manifest. */
function hasSameEnd({ metadata: one }: NodePod, { metadata: other }: NodePod): boolean {
  return (
    one.deletionTimestamp === other.deletionTimestamp &&
    one.deletionGracePeriodSeconds === other.deletionGracePeriodSeconds
  );
}

/** For pods of an API server: by all that is in them; a `status` that is there counts for `reconcile` alone. */
export const judgeByContent: PodJudge = (known, next) => {
  const [one, other] = [withoutStatus(known), withoutStatus(next)];
  if (!isDeepStrictEqual(one.pod, other.pod)) return 'changed';
  return isDeepStrictEqual(one.status, other.status) ? 'same' : 'reconcile';
};

function withoutStatus(pod: NodePod & { readonly status?: unknown }): { pod: object; status: unknown } {
  const { status, ...rest } = pod;
  return { pod: rest, status };
}
