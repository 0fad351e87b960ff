import { type SecretId } from './pull-logins.js';

/** A login with which an image was fetched. */
export interface UsedLogin {
  /** Of name and password: of no use to guess them by without the node's key. */
  readonly hash: string;
  /** Where it came from; undefined for one of a manifest. */
  readonly secret?: SecretId;
}

/**
 * Under which names, without tag and digest, an image was fetched, and who may do so: anyone, or who has one of these
 * logins. Empty when it was fetched and nobody knows how.
 */
export type PulledNames = ReadonlyMap<string, 'anyone' | readonly UsedLogin[]>;

/** How many logins are kept of one name: those used last. */
export const MOST_LOGINS = 100;

/**
 * The same with one more pull that succeeded, without a login where there is none; the same object where that is no news.
 * A Secret that says something else now has its new login alone. Pure.
 */
export function withPull(names: PulledNames, repository: string, login: UsedLogin | undefined): PulledNames {
  const before = names.get(repository) ?? [];
  if (before === 'anyone') return names;
  if (login === undefined) return new Map(names).set(repository, 'anyone');
  if (before.some((each) => isSameUse(each, login))) return names;
  const others = before.filter((each) => !isSameSecret(each.secret, login.secret));
  return new Map(names).set(repository, [...others, login].slice(-MOST_LOGINS));
}

/**
 * The same with what somebody else knows of the image. Of a Secret that both know, what is known here stays. Pure.
 */
export function withOthers(names: PulledNames, others: PulledNames): PulledNames {
  const all = new Map(names);
  for (const [repository, access] of others) {
    const before = all.get(repository) ?? [];
    if (before === 'anyone' || access === 'anyone') {
      all.set(repository, 'anyone');
      continue;
    }
    const isKnown = ({ secret }: UsedLogin): boolean =>
      before.some((each) => isSameSecret(each.secret, secret));
    const news = access.filter((login) => !isKnown(login));
    all.set(repository, [...news, ...before].slice(-MOST_LOGINS));
  }
  return all;
}

/** Whether both are there and the same. Pure. */
export function isSameSecret(one: SecretId | undefined, other: SecretId | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.uid === other.uid && one.namespace === other.namespace && one.name === other.name;
}

/** What a manifest's Secret has needs no entry of its own beside one with the same login. */
function isSameUse(known: UsedLogin, login: UsedLogin): boolean {
  return (
    known.hash === login.hash && (login.secret === undefined || isSameSecret(known.secret, login.secret))
  );
}
