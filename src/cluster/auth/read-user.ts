import { isRecord } from '#base/text/is-record.js';

/** Somebody as the API server knows him: authentication.k8s.io/v1 UserInfo. */
export interface ClusterUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  /** What an authenticator says of him besides, by name. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Reads the `user` of a TokenReview's status; what has another shape than it should is left out. */
export function readUser(user: unknown): ClusterUser {
  const { username, uid, groups, extra } = (isRecord(user) ? user : {}) as Record<string, unknown>;
  const readExtra = isRecord(extra)
    ? Object.fromEntries(Object.entries(extra).map(([name, values]) => [name, readStrings(values)]))
    : {};
  return {
    name: typeof username === 'string' ? username : '',
    ...(typeof uid === 'string' && uid !== '' ? { uid } : {}),
    groups: readStrings(groups),
    ...(Object.keys(readExtra).length > 0 ? { extra: readExtra } : {}),
  };
}

/** The strings of a list; none where there is no list. */
export function readStrings(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}
