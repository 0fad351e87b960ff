import { type PodRef } from '../model/pod-ref.js';
import { type PopulationFacts } from './runtime-facts.js';
import { type ListedContainer, type ListedSandbox } from './runtime-port.js';

/** What was made within this time was made lately. */
const LATELY_MS = 10 * 60_000;
/** A sandbox of a later attempt than this one was not made anew by one mishap. */
const STORM_ATTEMPT = 3;
/** Likewise for containers, which may well fail a few times until what they need is there. */
const CRASH_ATTEMPT = 5;
const MOST_NAMED = 10;

/** Counts what two lists show. Pure. */
export function summarizePopulation(
  sandboxes: readonly ListedSandbox[],
  containers: readonly ListedContainer[],
  nowMs: number,
): PopulationFacts {
  const podsBySandbox = new Map<string, PodRef>(sandboxes.map(({ id, pod }) => [id, pod]));
  const isNew = ({ createdAtMs }: { readonly createdAtMs: number }): boolean =>
    nowMs - createdAtMs < LATELY_MS;
  const containersByState: Record<string, number> = {};
  for (const { state } of containers) containersByState[state] = (containersByState[state] ?? 0) + 1;
  const crashing = newestOf(containers, ({ sandboxId, name }) => `${sandboxId}/${name}`)
    .filter((container) => container.attempt >= CRASH_ATTEMPT && isNew(container))
    .sort(byAttempt);
  return {
    pods: new Set(sandboxes.map(({ pod }) => pod.uid)).size,
    sandboxes: sandboxes.length,
    sandboxesNotReady: sandboxes.filter(({ ready }) => !ready).length,
    containers: containers.length,
    containersByState,
    sandboxStorms: newestOf(sandboxes, ({ pod }) => pod.uid)
      .filter((sandbox) => sandbox.attempt >= STORM_ATTEMPT && isNew(sandbox))
      .sort(byAttempt)
      .slice(0, MOST_NAMED)
      .map(({ pod, attempt }) => ({ pod, attempt })),
    crashLoops: crashing.slice(0, MOST_NAMED).map(({ sandboxId, name, attempt }) => ({
      ...{ container: name, attempt },
      pod: podsBySandbox.get(sandboxId) ?? { uid: sandboxId, namespace: '', name: '' },
    })),
    crashLoopCount: crashing.length,
  };
}

const byAttempt = (a: { readonly attempt: number }, b: { readonly attempt: number }): number =>
  b.attempt - a.attempt;

/** Of all that have the same key the one of the latest attempt. */
function newestOf<T extends { readonly attempt: number }>(
  items: readonly T[],
  keyOf: (item: T) => string,
): T[] {
  const newest = new Map<string, T>();
  for (const item of items) {
    const other = newest.get(keyOf(item));
    if (other === undefined || other.attempt < item.attempt) newest.set(keyOf(item), item);
  }
  return [...newest.values()];
}
