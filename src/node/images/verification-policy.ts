/**
 * Which existing images have to be pulled again with the pod's own login before the pod may use them.
 *
 * Source: https://kubernetes.io/docs/concepts/containers/images/#ensureimagepullcredentialverification
 *
 * @module
 */
import { isBareName, repositoryOf } from '#kube/container/image-name.js';

/** The values of `imagePullCredentialsVerificationPolicy`. */
export const VERIFICATION_POLICIES = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;

/** See {@link VERIFICATION_POLICIES}. */
export type VerificationPolicy = (typeof VERIFICATION_POLICIES)[number];

/** The configured rules of a node. */
export interface VerificationRules {
  readonly policy: VerificationPolicy;
  /**
   * For `NeverVerifyAllowlistedImages`: names of images, or `registry/*` and `registry/folder/*` for all
   * below.
   */
  readonly allowlist: readonly string[];
}

const ALL_BELOW = '/*';

/** The problem of an entry of the list, in the kubelet's words; undefined when it is valid. Pure. */
export function findAllowlistProblem(entry: string): string | undefined {
  if (entry !== entry.trim()) return 'leading/trailing spaces are not allowed';
  const isFolder = entry.endsWith(ALL_BELOW);
  const place = isFolder ? entry.slice(0, -1) : entry;
  if (place === '') return 'the supplied pattern is too short';
  if (place.includes('*')) return "not a valid wildcard pattern, only patterns ending with '/*' are allowed";
  if (isFolder) return place === '/' ? 'at least registry hostname is required' : undefined;
  if (repositoryOf(entry) === undefined) return 'failed to parse as an image name: invalid reference format';
  return isBareName(entry) ? undefined : 'neither tag nor digest is accepted in an image reference';
}

/** Whether a repository in the form of {@link repositoryOf} is on the list. Pure. */
export function isAllowlisted(repository: string, allowlist: readonly string[]): boolean {
  return allowlist.some((entry) =>
    entry.endsWith(ALL_BELOW)
      ? repository.startsWith(entry.slice(0, -1))
      : repositoryOf(entry) === repository,
  );
}
