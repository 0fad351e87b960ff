import { type cri } from '../cri/index.js';
import { type PodRef } from '#kube/pod/pod-ref.js';

import { type ConvertCounters, toContainerState, toSandboxState } from './convert.js';
import { type Labels, LABELS, ownerOf } from './labels.js';
import { type ObservedContainer, type ObservedPod, type PodOwner } from './runtime.js';

/** One sandbox or container of a list answer, and what it says about its pod. */
export interface ListedItem {
  readonly observed: ObservedContainer;
  /** Its state as on the wire. */
  readonly rawState: number;
  readonly pod: PodRef;
  readonly owner: PodOwner;
  /** Whether the pod's uid is in its labels, so that the runtime can find it by them. */
  readonly labelled: boolean;
}

/**
 * Converts a sandbox of a list answer.
 *
 * The pod's uid is the label's, else that of the metadata, else the sandbox's own id: crictl's sandboxes have
 * no labels, and CRI requires nobody to set a uid.
 */
export function toListedSandbox(sandbox: cri.PodSandbox, counters: ConvertCounters): ListedItem {
  const { id, metadata, labels } = sandbox;
  return {
    observed: {
      kind: 'sandbox',
      id,
      name: metadata?.name ?? labels[LABELS.podName] ?? '',
      attempt: metadata?.attempt ?? 0,
      state: toSandboxState(sandbox.state, counters),
      sandboxId: id,
      createdAtNs: sandbox.createdAt,
    },
    rawState: sandbox.state,
    pod: {
      uid: firstText(labels[LABELS.podUid], metadata?.uid, id),
      namespace: firstText(metadata?.namespace, labels[LABELS.podNamespace]),
      name: firstText(metadata?.name, labels[LABELS.podName]),
    },
    owner: ownerOf(labels),
    labelled: isLabelled(labels),
  };
}

/**
 * Converts a container of a list answer.
 *
 * The pod's uid is the label's, else `uidOfSandbox`, which is that of its sandbox, else the sandbox's id.
 */
export function toListedContainer(
  container: cri.Container,
  uidOfSandbox: string | undefined,
  counters: ConvertCounters,
): ListedItem {
  const { id, metadata, labels, podSandboxId } = container;
  return {
    observed: {
      kind: 'container',
      id,
      name: metadata?.name ?? labels[LABELS.containerName] ?? '',
      attempt: metadata?.attempt ?? 0,
      state: toContainerState(container.state, counters),
      sandboxId: podSandboxId,
      createdAtNs: container.createdAt,
    },
    rawState: container.state,
    pod: {
      uid: firstText(labels[LABELS.podUid], uidOfSandbox, podSandboxId, id),
      namespace: firstText(labels[LABELS.podNamespace]),
      name: firstText(labels[LABELS.podName]),
    },
    owner: ownerOf(labels),
    labelled: isLabelled(labels),
  };
}

/** Builds the pod from `items`: at least one, all of them with that uid. */
export function toObservedPod(uid: string, items: Iterable<ListedItem>): ObservedPod {
  const sandboxes: ListedItem[] = [];
  const containers: ListedItem[] = [];
  for (const item of items) (item.observed.kind === 'sandbox' ? sandboxes : containers).push(item);
  sandboxes.sort((a, b) => newestAttemptFirst(a.observed, b.observed));
  containers.sort((a, b) => inOrderOfCreation(a.observed, b.observed));
  // The newest item names the pod; without a sandbox, a container whose owner is known does.
  const words = [...sandboxes, ...containers.toReversed()];
  const named = words.find(({ pod }) => pod.name !== '') ?? words[0];
  const owned = sandboxes[0] ?? words.find(({ owner }) => owner !== 'other');
  return {
    uid,
    namespace: named?.pod.namespace ?? '',
    name: named?.pod.name ?? '',
    owner: owned?.owner ?? 'other',
    sandboxes: sandboxes.map(({ observed }) => observed),
    containers: containers.map(({ observed }) => observed),
  };
}

/** Anything that has an attempt, a time of creation and an id. */
export interface Dated {
  readonly id: string;
  readonly attempt: number;
  readonly createdAtNs: bigint;
}

/** Order of sandboxes: by attempt, then by time, then by id, so that it never depends on the list's order. */
export function newestAttemptFirst(a: Dated, b: Dated): number {
  return b.attempt - a.attempt || compare(b.createdAtNs, a.createdAtNs) || compare(a.id, b.id);
}

/** Order of containers. */
export function inOrderOfCreation(a: Dated, b: Dated): number {
  return compare(a.createdAtNs, b.createdAtNs) || a.attempt - b.attempt || compare(a.id, b.id);
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function firstText(...texts: (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== '') ?? '';
}

function isLabelled(labels: Labels): boolean {
  return (labels[LABELS.podUid] ?? '') !== '';
}
