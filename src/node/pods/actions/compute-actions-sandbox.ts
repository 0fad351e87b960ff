import { type Container } from '#kube/container/container.js';
import { initKindOf } from '#kube/container/restart-rule.js';
import { type ContainerPlanner, type PlannedContainer } from '../containers/container-planner.js';
import { findNewestRun, mayBeAlive } from '../../status/pod-containers.js';

/**
 * Plans what starts in a new sandbox; false when there is nothing to start and therefore no sandbox to
 * create.
 *
 * `lost`: nobody asked for a new one, the old one disappeared (a reboot, a crash). A pod that runs once is
 * then over if it has begun; if only init containers have run, and none failed, it begins again.
 */
export function planNewSandbox(
  planner: ContainerPlanner,
  regular: readonly PlannedContainer[],
  initContainers: readonly Container[],
  lost: boolean,
): boolean {
  const init = initContainers.map((container, index): PlannedContainer => ({
    kind: initKindOf(container),
    container,
    index,
  }));
  if (lost && planner.isRunOnce && hasBegun(planner, regular, init)) return false;
  const outcomes = regular.map((each) => planInNewSandbox(planner, each, lost));
  if (!outcomes.some(Boolean)) return false;
  const [first] = init;
  if (first !== undefined) {
    // In a new sandbox everything begins with the first init container; the others wait for it.
    planner.starts.length = 0;
    planner.waits.length = 0;
    planner.start(first);
  }
  return true;
}

function hasBegun(
  planner: ContainerPlanner,
  regular: readonly PlannedContainer[],
  init: readonly PlannedContainer[],
): boolean {
  const newestRun = (each: PlannedContainer) => {
    return { each, newest: findNewestRun(planner.containers.of(each.container.name).all) };
  };
  const runs = regular.map(newestRun);
  // An edited container has not run yet in its present form.
  if (runs.some(({ each, newest }) => newest !== undefined && !planner.isCurrent(each, newest))) return false;
  if (runs.some(({ newest }) => newest !== undefined)) return true;
  return init
    .map(newestRun)
    .some(
      ({ each, newest }) =>
        each.kind === 'init' &&
        newest !== undefined &&
        planner.isCurrent(each, newest) &&
        (mayBeAlive(newest) || newest.exitCode !== 0),
    );
}

/** Whether a regular container starts in the new sandbox, now or later. */
function planInNewSandbox(planner: ContainerPlanner, each: PlannedContainer, lost: boolean): boolean {
  const newest = findNewestRun(planner.containers.of(each.container.name).all);
  if (newest === undefined) return planner.start(each) === 'starting';
  if (!mayBeAlive(newest)) return planner.planExited(each, newest) !== 'ended';
  if (!planner.isCurrent(each, newest)) return planner.start(each) === 'starting';
  if (lost && planner.isRunOnce) return false;
  return planner.startInPlaceOf(each, newest) === 'starting';
}
