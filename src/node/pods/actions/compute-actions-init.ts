import { type Container } from '#kube/container/container.js';
import { initKindOf } from '#kube/container/restart-rule.js';
import { type ContainerPlanner, type PlannedContainer } from '../containers/container-planner.js';
import { type ProbeVerdicts } from './pod-actions.js';

/** The progress of the init containers of a sandbox; `failed` ends the pod. */
export type InitProgress = 'initialized' | 'under-way' | 'failed';

/**
 * Plans the init containers of the present sandbox: the next one to run, and sidecars that keep running.
 *
 * Completed ones may have been removed, so the last one that exists shows the progress. Once the sandbox has
 * a regular container, all init containers are through.
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

/** A started sidecar lets the next one start; an init container has to end first. */
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
