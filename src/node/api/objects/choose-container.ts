import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type ApiError, badRequest } from '../http/api-error.js';
import { type ServedPod } from './served-pod.js';

/**
 * The name of the requested container: the given one, or the only one. Throws BadRequest in an API server's
 * words.
 */
export function chooseContainer(served: ServedPod, asked: string): string {
  const { spec, metadata } = served.pod;
  if (asked !== '') {
    if (containerNamesOf(served).includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
  }
  const regular = spec.containers.map(({ name }) => name);
  if (regular.length === 1) return regular[0]!;
  throw unnamed(
    metadata.name,
    regular,
    (spec.initContainers ?? []).map(({ name }) => name),
  );
}

/** A container's status; undefined before there is one. */
export function findContainerStatus(status: V1PodStatus, name: string): V1ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses } = status;
  // Newer statuses may have more kinds of containers than this module knows.
  const { ephemeralContainerStatuses = [] } = status as {
    readonly ephemeralContainerStatuses?: readonly V1ContainerStatus[];
  };
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (each) => each.name === name,
  );
}

/** The runtime's id in `containerd://<id>`. */
export function containerIdOf(containerID: string): string {
  return containerID.slice(containerID.indexOf('://') + 3);
}

/** All of them, of every kind. */
export function containerNamesOf({ pod: { spec } }: ServedPod): string[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...containers, ...initContainers, ...ephemeralContainers].map(({ name }) => name);
}

function unnamed(pod: string, regular: readonly string[], init: readonly string[]): ApiError {
  const others = init.length === 0 ? '' : ` or one of the init containers: [${init.join(' ')}]`;
  return badRequest(
    `a container name must be specified for pod ${pod}, choose one of: [${regular.join(' ')}]${others}`,
  );
}
