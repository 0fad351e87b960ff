import { isSameOwner, MAX_LOGINS, type PulledNames, type UsedLogin } from './pulled-names.js';
import { isAllowlisted, type VerificationRules } from './verification-policy.js';

/** Whether a pod may use an image that the node already has. */
export interface AccessVerdict {
  /** As a kubelet counts it; `loginsNeeded`: it depends on the pod's logins, and they are not given. */
  readonly result: 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'loginsNeeded';
  /** To be added to the image's logins: another Secret or account has a known login. */
  readonly news?: UsedLogin;
}

/** The inputs of {@link judgeAccess}. */
export interface AccessCase {
  readonly rules: VerificationRules;
  /** Of the pod's name for the image. */
  readonly repository: string;
  /** How the image was pulled; undefined when this agent did not pull it. */
  readonly names: PulledNames | undefined;
  /** The pod's logins for the image; undefined as long as nobody has asked for them. */
  readonly logins: readonly UsedLogin[] | undefined;
}

/**
 * Decides on a pod's access to an existing image. Pure.
 *
 * The rules are a kubelet's: an image that was pulled without a login is for every pod. One that was pulled
 * with a login is for pods with that Secret, whatever it contains now, for pods of the service account that a plugin
 * gave it to, and for pods with the same login from elsewhere.
 * Unlike with a kubelet, an image that never needed a login is for every pod under any name that it has on
 * the node, unless a stricter policy is set: without logins, a second pull would check nothing.
 *
 * Source: KEP-2535, https://www.kubernetes.dev/resources/keps/2535/
 */
export function judgeAccess({ rules, repository, names, logins }: AccessCase): AccessVerdict {
  if (!mustVerify(rules, repository, names)) return { result: 'credentialPolicyAllowed' };
  const access = names?.get(repository) ?? [];
  if (access === 'anyone') return { result: 'credentialRecordFound' };
  if (rules.policy === 'NeverVerifyPreloadedImages' && isForAnyone(names)) {
    return { result: 'credentialRecordFound' };
  }
  // Its Secrets need not be read.
  if (access.length === 0) return { result: 'mustAuthenticate' };
  if (logins === undefined) return { result: 'loginsNeeded' };
  const known = logins.find(({ hash }) => access.some((each) => each.hash === hash));
  // The present contents of a Secret were not tried, and are not recorded: they must open nothing to others.
  const isOwner = logins.some((login) => access.some((each) => isSameOwner(each, login)));
  if (isOwner) return { result: 'credentialRecordFound' };
  if (known !== undefined) {
    // With many of them, each would displace one that somebody needs.
    const hasOwner = known.secret !== undefined || known.account !== undefined;
    const isNews = hasOwner && access.length < MAX_LOGINS;
    return { result: 'credentialRecordFound', ...(isNews ? { news: known } : {}) };
  }
  return { result: 'mustAuthenticate' };
}

function mustVerify(
  { policy, allowlist }: VerificationRules,
  repository: string,
  names: PulledNames | undefined,
): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return names !== undefined;
    case 'NeverVerifyAllowlistedImages':
      return !isAllowlisted(repository, allowlist);
    case 'AlwaysVerify':
      return true;
  }
}

function isForAnyone(names: PulledNames | undefined): boolean {
  if (names === undefined || names.size === 0) return false;
  return [...names.values()].every((access) => access === 'anyone');
}
