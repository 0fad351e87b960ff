import { type ContainerStatus } from '#watch';
import { hasRun } from '../../status/pod-containers.js';

/**
 * One more than the highest count of a container of the name that ran. Pure.
 *
 * A container that was created but never ran gives its number back. `lastKnown`: the count of the last one
 * that ran, if the runtime may have lost it.
 */
export function computeNextRestartCount(
  containers: readonly ContainerStatus[],
  lastKnown: number | undefined,
): number {
  const ran = containers.filter(hasRun).flatMap(({ attempt, restartCount }) => [attempt, restartCount]);
  const created = containers.filter((container) => !hasRun(container));
  return Math.max(
    0,
    ...[...ran, ...(lastKnown === undefined ? [] : [lastKnown])].map((count) => count + 1),
    ...created.map(({ restartCount }) => restartCount),
  );
}
