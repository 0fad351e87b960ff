import { type ObjectId } from './pull-logins.js';

/** A login with which an image was pulled. */
export interface UsedLogin {
  /** Hash of name and password: without the node's key it does not help to guess them. */
  readonly hash: string;
  /** Its origin; undefined for a Secret of a manifest, … */
  readonly secret?: ObjectId;
  /** … and for a login of a plugin, which was asked with the token of this service account. */
  readonly account?: ObjectId;
}

/**
 * The names, without tag and digest, under which an image was pulled, and for whom: anyone, or pods with one
 * of these logins.
 *
 * Empty when it was pulled in an unknown way.
 */
export type PulledNames = ReadonlyMap<string, 'anyone' | readonly UsedLogin[]>;

/** Maximum of logins per name: the most recently used ones stay. */
export const MAX_LOGINS = 100;

/**
 * Adds a successful pull, without a login if there was none; returns the same object if that is no news.
 * Pure.
 *
 * A Secret or an account whose login has changed keeps only its new one.
 */
export function withPull(names: PulledNames, repository: string, login: UsedLogin | undefined): PulledNames {
  const before = names.get(repository) ?? [];
  if (before === 'anyone') return names;
  if (login === undefined) return new Map(names).set(repository, 'anyone');
  if (before.some((each) => isSameUse(each, login))) return names;
  const others = before.filter((each) => !isSameOwner(each, login));
  return new Map(names).set(repository, [...others, login].slice(-MAX_LOGINS));
}

/**
 * Adds what somebody else knows about the image. For a Secret or an account that both know, the present entry stays. Pure.
 */
export function withOthers(names: PulledNames, others: PulledNames): PulledNames {
  const all = new Map(names);
  for (const [repository, access] of others) {
    const before = all.get(repository) ?? [];
    if (before === 'anyone' || access === 'anyone') {
      all.set(repository, 'anyone');
      continue;
    }
    const isKnown = (login: UsedLogin): boolean => before.some((each) => isSameOwner(each, login));
    const news = access.filter((login) => !isKnown(login));
    all.set(repository, [...news, ...before].slice(-MAX_LOGINS));
  }
  return all;
}

/** Whether both come from the same Secret, or were given to the same service account. Pure. */
export function isSameOwner(one: UsedLogin, other: UsedLogin): boolean {
  return isSame(one.secret, other.secret) || isSame(one.account, other.account);
}

function isSame(one: ObjectId | undefined, other: ObjectId | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.uid === other.uid && one.namespace === other.namespace && one.name === other.name;
}

/** A login from a manifest's Secret needs no entry beside one with the same login. */
function isSameUse(known: UsedLogin, login: UsedLogin): boolean {
  const hasOwner = login.secret !== undefined || login.account !== undefined;
  return known.hash === login.hash && (!hasOwner || isSameOwner(known, login));
}
