import { groupBy } from './group-by.js';
import { type PopulationFacts } from './facts/runtime-facts.js';
import { type ListedContainer, type ListedSandbox } from './runtime-port.js';

/** What was made within this time was made lately. */
const LATELY_MS = 10 * 60_000;
/** So many sandboxes of a pod that were made lately are more than one mishap. */
const STORM_SANDBOXES = 3;
/** A container may well fail a few times until what it needs is there. */
const CRASH_ATTEMPT = 5;
/** A container that came so long after its sandbox was not the first there: others have ended before it. */
const FIRST_START_MS = 60_000;
const MAX_NAMED = 10;

/**
 * Counts what two lists show. Pure.
 *
 * Attempts go on counting when a node restarts and everything is made again once: by themselves they are no sign that
 * something ends again and again.
 *
 * @param laterSandboxes of a list that was made later: what came and went meanwhile counts as recreated.
 */
export function summarizePopulation(
  sandboxes: readonly ListedSandbox[],
  containers: readonly ListedContainer[],
  nowMs: number,
  laterSandboxes: readonly ListedSandbox[] = [],
): PopulationFacts {
  const sandboxById = new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox]));
  const isNew = ({ createdAtMs }: { readonly createdAtMs: number }): boolean =>
    nowMs - createdAtMs < LATELY_MS;
  const containersByState: Record<string, number> = {};
  for (const { state } of containers) containersByState[state] = (containersByState[state] ?? 0) + 1;
  const isRestart = ({ sandboxId, createdAtMs }: ListedContainer): boolean =>
    createdAtMs - (sandboxById.get(sandboxId)?.createdAtMs ?? createdAtMs) >= FIRST_START_MS;
  const crashing = newestOf(containers, ({ sandboxId, name }) => `${sandboxId}/${name}`)
    .filter((container) => container.attempt >= CRASH_ATTEMPT && isNew(container) && isRestart(container))
    .sort(byAttempt);
  return {
    pods: new Set(sandboxes.map(({ pod }) => pod.uid)).size,
    sandboxes: sandboxes.length,
    sandboxesNotReady: sandboxes.filter(({ ready }) => !ready).length,
    containers: containers.length,
    containersByState,
    sandboxStorms: findStorms([...sandboxes, ...laterSandboxes].filter(isNew)),
    crashLoops: crashing.slice(0, MAX_NAMED).map(({ sandboxId, name, attempt }) => ({
      ...{ container: name, attempt },
      pod: sandboxById.get(sandboxId)?.pod ?? { uid: sandboxId, namespace: '', name: '' },
    })),
    crashLoopCount: crashing.length,
  };
}

/** Of sandboxes that were made lately; the attempts between two of them were made between them, and removed. */
function findStorms(lately: readonly ListedSandbox[]): PopulationFacts['sandboxStorms'] {
  return [...groupBy(lately, ({ pod }) => pod.uid).values()]
    .map((ofPod) => {
      const attempts = ofPod.map(({ attempt }) => attempt);
      const attempt = Math.max(...attempts);
      return { pod: ofPod[0]!.pod, attempt, made: attempt - Math.min(...attempts) + 1 };
    })
    .filter(({ made }) => made >= STORM_SANDBOXES)
    .sort((a, b) => b.made - a.made)
    .slice(0, MAX_NAMED);
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
