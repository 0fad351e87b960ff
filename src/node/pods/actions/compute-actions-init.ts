import { type Container } from '#kube/container/container.js';
import { initKindOf } from '#kube/container/restart-rule.js';
import { type ContainerPlanner, type PlannedContainer } from '../containers/container-planner.js';
import { type ProbeVerdicts } from './pod-actions.js';

/** How far the init containers of a sandbox have come; `failed` ends the pod. */
export type InitProgress = 'initialized' | 'under-way' | 'failed';

/**
 * Plans the init containers of the sandbox in use: the next one to run, and sidecars to keep.
 *
 * Completed ones may have been removed, so progress is told by the last one there is; and once there is a regular
 * container in the sandbox, all of them have been through.
 */
export function planInitContainers(
  planner: ContainerPlanner,
  initContainers: readonly Container[],
  regular: readonly PlannedContainer[],
  probes: ProbeVerdicts,
): InitProgress {
  const init = initContainers.map((container, index): PlannedContainer => ({
    kind: initKindOf(container),
    container,
    index,
  }));
  const isThere = ({ container }: PlannedContainer): boolean =>
    planner.containers.of(container.name).current.length > 0;
  if (regular.some(isThere)) {
    for (const each of init) if (each.kind === 'sidecar') planner.plan(each);
    return 'initialized';
  }
  const last = init.findLastIndex(isThere);
  for (const each of init.slice(0, Math.max(0, last))) if (each.kind === 'sidecar') planner.plan(each);
  const lastThere = init[last];
  if (lastThere !== undefined) {
    const outcome = planner.plan(lastThere);
    if (outcome === 'failed') return 'failed';
    const isThrough = outcome === 'ended' || (outcome === 'kept' && hasStarted(planner, lastThere, probes));
    if (!isThrough) return 'under-way';
  }
  const next = init[last + 1];
  if (next === undefined) return 'initialized';
  planner.plan(next);
  return 'under-way';
}

/** A sidecar that has started lets the next one go; an init container has to end. */
function hasStarted(
  planner: ContainerPlanner,
  { kind, container }: PlannedContainer,
  probes: ProbeVerdicts,
): boolean {
  if (kind !== 'sidecar') return false;
  if (container.startupProbe === undefined) return true;
  const running = planner.containers.of(container.name).current.find(({ state }) => state === 'running');
  return running !== undefined && probes.hasStarted(running.id);
}
