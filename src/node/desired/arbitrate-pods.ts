import { type NodePod } from '#kube/pod/node-pod.js';

/** A source that wants a pod. */
export interface PodClaim {
  readonly source: string;
  readonly pod: NodePod;
  /** When the source first wanted it, counted up: the smaller was first. */
  readonly since: number;
  /** The pod is this source's already. */
  readonly isHeld: boolean;
}

/** A claim that another one stands against. */
export interface RefusedClaim {
  readonly claim: PodClaim;
  /** Whose pod it is. */
  readonly holder: PodClaim;
  /** What the two have in common. */
  readonly by: 'name' | 'uid';
}

/** Who gets which pod. */
export interface Arbitration {
  readonly accepted: ReadonlySet<PodClaim>;
  readonly refused: readonly RefusedClaim[];
}

/**
 * Decides between claims to the same pod: no two of those accepted have a uid or a full name in common. Pure.
 *
 * A pod stays with the source that has it; else the first claim wins. Nothing is taken from a pod that runs because
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
