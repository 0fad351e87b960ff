import { isSameSecret, MOST_LOGINS, type PulledNames, type UsedLogin } from './pulled-names.js';
import { isAllowlisted, type VerificationRules } from './verification-policy.js';

/** Whether a pod may use an image that is on the node as it is. */
export interface AccessVerdict {
  /** As a kubelet counts it. */
  readonly result: 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate';
  /** To be kept with those of the image: another Secret has a login that is known. */
  readonly news?: UsedLogin;
}

/** What {@link judgeAccess} goes by. */
export interface AccessCase {
  readonly rules: VerificationRules;
  /** Of the name that the pod has for the image. */
  readonly repository: string;
  /** How the image was fetched; undefined when it was not fetched by us. */
  readonly names: PulledNames | undefined;
  /** What the pod has for the image; only asked for where it matters. */
  readonly logins: () => readonly UsedLogin[];
}

/**
 * Judges a pod's access to an image that is on the node. Pure.
 *
 * As a kubelet does it: what was fetched without a login is for every pod; what was fetched with one, for pods that have
 * that Secret, whatever it says by now, or the same login from elsewhere. Other than with a kubelet, an image that nobody
 * ever needed a login for is for every pod by any name that it has on the node, unless a policy is set that is stricter:
 * where there are no logins, nothing is to be asked for twice.
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
  // Its Secrets need not be looked for.
  if (access.length === 0) return { result: 'mustAuthenticate' };
  const own = logins();
  const known = own.find(({ hash }) => access.some((each) => each.hash === hash));
  // What a Secret says by now was not tried, and is not kept: it must open nothing to others.
  const isOwner = own.some(({ secret }) => access.some((each) => isSameSecret(each.secret, secret)));
  if (isOwner) return { result: 'credentialRecordFound' };
  if (known !== undefined) {
    // Where there are many, each would drive out one that somebody needs.
    const isNews = known.secret !== undefined && access.length < MOST_LOGINS;
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
