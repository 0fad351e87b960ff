import { type EphemeralContainer } from '#kube/container/container.js';
import { type ContainerPlanner } from '../containers/container-planner.js';

/**
 * Plans the ephemeral containers of the present sandbox: each starts once, whatever happens to it or is
 * edited later.
 */
export function planEphemeralContainers(
  planner: ContainerPlanner,
  ephemeralContainers: readonly EphemeralContainer[],
): void {
  for (const [index, container] of ephemeralContainers.entries()) {
    if (planner.hasBeenStarted(container)) continue;
    const created = planner.containers.of(container.name).current.find(({ state }) => state === 'created');
    planner.start({ kind: 'ephemeral', container, index }, 0, created?.id);
  }
}
