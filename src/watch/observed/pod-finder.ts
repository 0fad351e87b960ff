import { CallGroup, type CriClient } from '../cri/index.js';

import { type ConvertCounters } from './convert.js';
import { LABELS } from './labels.js';
import { type ListedItem, toListedContainer, toListedSandbox, toObservedPod } from './listed-item.js';
import { type IndexedPod, type PodIndex } from './pod-index.js';
import { type ObservedContainer, type ObservedPod } from './runtime.js';

/** Options of {@link findPodInRuntime}. */
export interface PodFinderOptions {
  readonly client: Pick<CriClient, 'listPodSandbox' | 'listContainers'>;
  /** Only read, as one pod's list says nothing about the others. */
  readonly index: PodIndex;
  readonly counters: ConvertCounters;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the runtime for one pod by its labels, and for items known to have none by their sandboxes.
 *
 * Returns undefined if neither finds anything; a pod without labels that no list has shown yet is not found.
 *
 * Reuses objects of the index where nothing changed, and the whole pod if nothing in it changed.
 */
export async function findPodInRuntime(
  uid: string,
  options: PodFinderOptions,
): Promise<ObservedPod | undefined> {
  const { client, index, counters, signal } = options;
  const known = index.find(uid);
  const filters = filtersFor(uid, known);
  const pod = known?.pod ?? { uid, namespace: '', name: '' };
  const [sandboxLists, containerLists] = await CallGroup.run(signal, (group) =>
    Promise.all([
      Promise.all(filters.sandboxes.map((filter) => client.listPodSandbox({ filter }, { group, pod }))),
      Promise.all(filters.containers.map((filter) => client.listContainers({ filter }, { group, pod }))),
    ]),
  );

  const items = new Map<string, ListedItem>();
  const take = (item: ListedItem): void => {
    // A runtime that ignores the filter also returns other pods.
    if (item.pod.uid === uid && item.observed.id !== '') items.set(item.observed.id, reuse(item, index));
  };
  const uidsOfSandboxes = new Map<string, string>();
  for (const sandbox of sandboxLists.flatMap((list) => list.items)) {
    const item = toListedSandbox(sandbox, counters);
    uidsOfSandboxes.set(sandbox.id, item.pod.uid);
    take(item);
  }
  for (const container of containerLists.flatMap((list) => list.containers)) {
    const { podSandboxId, id } = container;
    const uidOfSandbox =
      uidsOfSandboxes.get(podSandboxId) ??
      index.findUidOfSandbox(podSandboxId) ??
      index.findItem(id)?.pod.uid;
    take(toListedContainer(container, uidOfSandbox, counters));
  }
  if (items.size === 0) return undefined;
  const found = toObservedPod(uid, items.values());
  return known !== undefined && isSame(known.pod, found) ? known.pod : found;
}

interface Filters {
  readonly sandboxes: { readonly id?: string; readonly labelSelector?: Record<string, string> }[];
  readonly containers: { readonly podSandboxId?: string; readonly labelSelector?: Record<string, string> }[];
}

function filtersFor(uid: string, known: IndexedPod | undefined): Filters {
  const byLabel = { labelSelector: { [LABELS.podUid]: uid } };
  if (known === undefined || known.allLabelled) return { sandboxes: [byLabel], containers: [byLabel] };
  const labels = known.someLabelled ? [byLabel] : [];
  return {
    sandboxes: [...labels, ...known.sandboxIds.map((id) => ({ id }))],
    containers: [...labels, ...known.sandboxIds.map((podSandboxId) => ({ podSandboxId }))],
  };
}

function reuse(item: ListedItem, index: PodIndex): ListedItem {
  const known = index.findItem(item.observed.id);
  return known?.rawState === item.rawState ? known : item;
}

function isSame(a: ObservedPod, b: ObservedPod): boolean {
  return isSameList(a.sandboxes, b.sandboxes) && isSameList(a.containers, b.containers);
}

function isSameList(a: readonly ObservedContainer[], b: readonly ObservedContainer[]): boolean {
  return a.length === b.length && a.every((item, position) => item === b[position]);
}
