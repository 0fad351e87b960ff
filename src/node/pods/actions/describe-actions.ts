import { type PodActions } from './pod-actions.js';

/** Actions for the log, with only the names of containers, so that no environment gets into it. Pure. */
export function describeActions(actions: PodActions): Readonly<Record<string, unknown>> {
  return {
    ...actions,
    ephemeralContainersToStart: actions.ephemeralContainersToStart.map(withName),
    initContainersToStart: actions.initContainersToStart.map(withName),
    containersToStart: actions.containersToStart.map(withName),
    containersToKill: actions.containersToKill.map(({ container: _, ...kill }) => kill),
    containersToResize: actions.containersToResize.map(withName),
    containersInBackoff: actions.containersInBackoff.map(withName),
  };
}

function withName({ container, ...rest }: { readonly container: { readonly name: string } }): object {
  return { name: container.name, ...rest };
}
