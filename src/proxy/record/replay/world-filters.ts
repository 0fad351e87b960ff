import { matchesLabels } from '#base/text/matches-labels.js';
import {
  type Container,
  type ContainerFilter,
  type PodSandbox,
  type PodSandboxFilter,
} from '#watch/messages';

/** Whether a container is one that the filter asks for; empty parts of a filter ask for nothing. */
export function matchesContainer(item: Container, filter: ContainerFilter | undefined): boolean {
  if (filter === undefined) return true;
  const { id, podSandboxId, state, labelSelector } = filter;
  return (
    item.id.startsWith(id) &&
    item.podSandboxId.startsWith(podSandboxId) &&
    (state === undefined || state.state === item.state) &&
    matchesLabels(item.labels, labelSelector)
  );
}

/** Whether a sandbox is one that the filter asks for. */
export function matchesSandbox(item: PodSandbox, filter: PodSandboxFilter | undefined): boolean {
  if (filter === undefined) return true;
  const { id, state, labelSelector } = filter;
  return (
    item.id.startsWith(id) &&
    (state === undefined || state.state === item.state) &&
    matchesLabels(item.labels, labelSelector)
  );
}

/** Whether an answer to the filter is complete, so that what it leaves out does not exist. */
export function isByIdOnly(filter: ContainerFilter | PodSandboxFilter): boolean {
  return filter.state === undefined && Object.keys(filter.labelSelector).length === 0;
}

/** Whether the filter asks for everything. */
export function isEmptyFilter(filter: ContainerFilter | PodSandboxFilter | undefined): boolean {
  if (filter === undefined) return true;
  return (
    filter.id === '' && (!('podSandboxId' in filter) || filter.podSandboxId === '') && isByIdOnly(filter)
  );
}
