import { failure } from '../../command-failure.js';
import { type ContainerObject, type PodObject } from '#kube/columns/kube-object.js';

/** The annotation that says which container is meant when none is named. */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/** A container of a pod, of whatever kind. */
function findContainer({ spec = {} }: PodObject, name: string): ContainerObject | undefined {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
  return [...containers, ...initContainers, ...ephemeralContainers].find((one) => one.name === name);
}

/** All names, with the kind of those that are no plain containers: `web, helper (ephem), setup (init)`. */
function listContainerNames({ spec = {} }: PodObject): string {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
  return [
    ...containers.map(({ name = '' }) => name),
    ...ephemeralContainers.map(({ name = '' }) => `${name} (ephem)`),
    ...initContainers.map(({ name = '' }) => `${name} (init)`),
  ].join(', ');
}

/** A container that was chosen, and what is to be said about the choice. */
export interface ChosenContainer {
  readonly container: ContainerObject;
  readonly notice: string | undefined;
}

/**
 * The container that is meant: the named one, that of the annotation, or the first, with a notice when there are others.
 * Throws a CommandFailure.
 */
export function chooseContainer(pod: PodObject, named: string | undefined): ChosenContainer {
  const { metadata = {}, spec = {} } = pod;
  const name = named ?? metadata.annotations?.[DEFAULT_CONTAINER];
  if (name !== undefined && name !== '') return { container: getContainer(pod, name), notice: undefined };
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
  const [first] = containers;
  if (first === undefined) {
    throw failure(`pod ${metadata.namespace ?? ''}/${metadata.name ?? ''} does not have any containers`);
  }
  const isOnly = containers.length + initContainers.length + ephemeralContainers.length === 1;
  const notice = `Defaulted container "${first.name ?? ''}" out of: ${listContainerNames(pod)}`;
  return { container: first, notice: isOnly ? undefined : notice };
}

function getContainer(pod: PodObject, name: string): ContainerObject {
  const found = findContainer(pod, name);
  if (found !== undefined) return found;
  throw failure(
    `container ${name} is not valid for pod ${pod.metadata?.name ?? ''} out of: ${listContainerNames(pod)}`,
  );
}
