import { type NodePod } from '#kube/pod/node-pod.js';

/** A source that wants a pod. */
export interface PodClaim {
  readonly source: string;
  readonly pod: NodePod;
  /** Order in which sources first wanted it: the smaller was first. */
  readonly since: number;
  /** The pod already belongs to this source. */
  readonly isHeld: boolean;
}

/** A claim that loses against another one. */
export interface RefusedClaim {
  readonly claim: PodClaim;
  /** The claim that has the pod. */
  readonly holder: PodClaim;
  /** What the two have in common. */
  readonly by: 'name' | 'uid';
}

/** Which source gets which pod. */
export interface Arbitration {
  readonly accepted: ReadonlySet<PodClaim>;
  readonly refused: readonly RefusedClaim[];
}

/**
 * Decides between claims to the same pod: no two accepted ones share a uid or a full name. Pure.
 *
 * A pod stays with the source that has it; otherwise the first claim wins. A running pod loses nothing when
 * another source names it, too.
 */
export function arbitratePods(claims: readonly PodClaim[]): Arbitration {
  const accepted = new Set<PodClaim>();
  const refused: RefusedClaim[] = [];
  const byUid = new Map<string, PodClaim>();
  const byName = new Map<string, PodClaim>();
  const turns = [...claims].sort(
    (one, other) => Number(other.isHeld) - Number(one.isHeld) || one.since - other.since,
  );
  for (const claim of turns) {
    const { uid } = claim.pod.metadata;
    const name = fullName(claim.pod);
    const namesake = byName.get(name);
    const holder = namesake ?? byUid.get(uid);
    if (holder !== undefined) {
      refused.push({ claim, holder, by: namesake === undefined ? 'uid' : 'name' });
      continue;
    }
    accepted.add(claim);
    byUid.set(uid, claim);
    byName.set(name, claim);
  }
  return { accepted, refused };
}

/** `namespace/name`. */
export function fullName({ metadata }: NodePod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
