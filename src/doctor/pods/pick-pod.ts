import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { type ListedNode } from '../facts/event-witness.js';
import { type Looked } from '../looked.js';
import { type PodCase } from './pod-case.js';
import { type ListedSandbox } from '../runtime-port.js';
import { type PodObject, podsOf } from './pod-object.js';

/** The pods of a node, by everybody who has some. */
export interface SeenPods {
  /** As podloop's agent and a kubelet list them. */
  readonly ofAgent: Looked<unknown>;
  readonly ofKubelet: Looked<unknown>;
  /** Of the runtime; undefined when it could not be listed. */
  readonly lists: ListedNode | undefined;
}

/** How somebody names a pod. */
export interface PodName {
  readonly name: string;
  /** Absent: of any namespace. */
  readonly namespace?: string;
}

/** The pod of that name, that there are several, or that there is none. */
export type PickedPod =
  | ({ readonly kind: 'found' } & Pick<PodCase, 'pod' | 'source' | 'object' | 'sandboxes' | 'containers'>)
  | { readonly kind: 'ambiguous'; readonly pods: readonly string[] }
  /** `isSure`: whoever decides which pods there are was asked. `similar`: pods whose names begin alike. */
  | { readonly kind: 'absent'; readonly isSure: boolean; readonly similar: readonly string[] };

interface Candidate {
  readonly pod: PodRef;
  readonly source: PodCase['source'];
  readonly object?: PodObject;
}

/** Similar names that are shown. */
const MAX_SIMILAR = 5;

/** Finds the pod that is meant: what an agent or a kubelet has comes before what only the runtime has. Pure. */
export function pickPod(seen: SeenPods, wanted: PodName): PickedPod {
  const all = listCandidates(seen);
  const there = all.filter(({ pod }) => wanted.namespace === undefined || pod.namespace === wanted.namespace);
  const exact = there.filter(({ pod }) => pod.name === wanted.name);
  const byName = new Map<string, Candidate>();
  for (const each of exact.length > 0 ? exact : there.filter((one) => nameInManifest(one) === wanted.name)) {
    const name = formatPod(each.pod);
    if (!byName.has(name)) byName.set(name, each);
  }
  const [found, ...others] = byName.values();
  if (found === undefined) {
    const similar = all
      .map(({ pod }) => pod)
      .filter(({ name }) => name.startsWith(`${wanted.name}-`) || name === wanted.name);
    return {
      kind: 'absent',
      isSure: seen.ofAgent.known || seen.ofKubelet.known,
      similar: [...new Set(similar.map(formatPod))].sort().slice(0, MAX_SIMILAR),
    };
  }
  if (others.length > 0) return { kind: 'ambiguous', pods: [...byName.keys()].sort() };
  // A pod of the same name that was there before has another uid.
  const isOfPod = ({ pod }: ListedSandbox): boolean =>
    formatPod(pod) === formatPod(found.pod) && (found.object === undefined || pod.uid === found.pod.uid);
  const sandboxes = (seen.lists?.sandboxes ?? [])
    .filter(isOfPod)
    .sort((a, b) => b.createdAtMs - a.createdAtMs);
  const ids = new Set(sandboxes.map(({ id }) => id));
  const containers = (seen.lists?.containers ?? []).filter(({ sandboxId }) => ids.has(sandboxId));
  return { kind: 'found', ...found, sandboxes, containers };
}

/** A pod of a manifest has the name of its node behind its own. */
function nameInManifest({ pod, object }: Candidate): string | undefined {
  const { metadata: { annotations = {} } = {}, spec: { nodeName = '' } = {} } = object ?? {};
  const ending = `-${nodeName.toLowerCase()}`;
  const isOfManifest = annotations[STATIC_POD_ANNOTATIONS.source] !== undefined && nodeName !== '';
  return isOfManifest && pod.name.endsWith(ending) ? pod.name.slice(0, -ending.length) : undefined;
}

function listCandidates({ ofAgent, ofKubelet, lists }: SeenPods): Candidate[] {
  const listOf = (page: Looked<unknown>, source: PodCase['source']): Candidate[] =>
    page.known
      ? podsOf(page.value).map((object) => {
          const { uid = '', namespace = '', name = '' } = object.metadata ?? {};
          return { pod: { uid, namespace, name }, source, object };
        })
      : [];
  const ofRuntime = (lists?.sandboxes ?? []).map(({ pod }): Candidate => ({ pod, source: 'the runtime' }));
  return [...listOf(ofAgent, 'podloop’s agent'), ...listOf(ofKubelet, 'the kubelet'), ...ofRuntime];
}
