import { isDeepStrictEqual } from 'node:util';
import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';

/** The difference between two versions of a pod: `reconcile` when only the recorded status differs. */
export type PodVerdict = 'same' | 'changed' | 'reconcile';

/** Compares a known pod with its next version. Pure. Both have the same uid and name. */
export type PodJudge = (known: NodePod, next: NodePod) => PodVerdict;

/**
 * For pods of manifests: compares the hash of what was written, so that a newer podloop's defaults change
 * nothing.
 *
 * A pod without that hash is compared as in {@link judgeByContent}.
 */
export const judgeByManifest: PodJudge = (known, next) => {
  const [one, other] = [known, next].map(
    ({ metadata }) => metadata.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash],
  );
  if (one === undefined && other === undefined) return judgeByContent(known, next);
  const isSame = one === other && hasSameEnd(known, next) && hasSameDebugContainers(known, next);
  return isSame ? 'same' : 'changed';
};

/** Whether both have the same ephemeral containers: those of `podloop debug` are not part of the manifest. */
function hasSameDebugContainers({ spec: one }: NodePod, { spec: other }: NodePod): boolean {
  return (
    one.ephemeralContainers === other.ephemeralContainers ||
    isDeepStrictEqual(one.ephemeralContainers ?? [], other.ephemeralContainers ?? [])
  );
}

/** Whether both are to end in the same way, or not at all: that is not part of the manifest. */
function hasSameEnd({ metadata: one }: NodePod, { metadata: other }: NodePod): boolean {
  return (
    one.deletionTimestamp === other.deletionTimestamp &&
    one.deletionGracePeriodSeconds === other.deletionGracePeriodSeconds
  );
}

/** For pods of an API server: compares everything; a different `status` counts only for `reconcile`. */
export const judgeByContent: PodJudge = (known, next) => {
  const [one, other] = [withoutStatus(known), withoutStatus(next)];
  if (!isDeepStrictEqual(one.pod, other.pod)) return 'changed';
  return isDeepStrictEqual(one.status, other.status) ? 'same' : 'reconcile';
};

function withoutStatus(pod: NodePod & { readonly status?: unknown }): { pod: object; status: unknown } {
  const { status, ...rest } = pod;
  return { pod: rest, status };
}
