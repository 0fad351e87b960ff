import {
  type Container,
  ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  type ContainerStatus,
  ContainerStatusResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  type PodSandbox,
  type PodSandboxStatus,
  PodSandboxStatusResponse,
} from '#watch/messages';
import { isByIdOnly, isEmptyFilter, matchesContainer, matchesSandbox } from './world-filters.js';

/** What was seen of a node at one moment: folded from answers and events, one after another. */
export class World {
  readonly #sandboxes = new Map<string, PodSandbox>();
  readonly #containers = new Map<string, Container>();
  readonly #sandboxStatuses = new Map<string, PodSandboxStatusResponse>();
  readonly #statuses = new Map<string, ContainerStatusResponse>();
  #version = 0;

  /** Increases with what may have changed a state, or what there is. */
  get version(): number {
    return this.#version;
  }

  sandboxes(): Iterable<PodSandbox> {
    return this.#sandboxes.values();
  }

  containers(): Iterable<Container> {
    return this.#containers.values();
  }

  findSandbox(id: string): PodSandbox | undefined {
    return this.#sandboxes.get(id);
  }

  findContainer(id: string): Container | undefined {
    return this.#containers.get(id);
  }

  /** The newest status that was recorded of it. */
  findSandboxStatus(id: string): PodSandboxStatusResponse | undefined {
    return this.#sandboxStatuses.get(id);
  }

  findContainerStatus(id: string): ContainerStatusResponse | undefined {
    return this.#statuses.get(id);
  }

  /**
   * Learns from an answer, or an event: messages of StreamContainers and its like are as those of the list. From one
   * that cannot be read nothing is learned.
   */
  learn(method: string, request: Buffer, answer: Buffer): void {
    try {
      this.#learn(method, request, answer);
    } catch {
      // Recordings are files, and files may hold anything.
    }
  }

  #learn(method: string, request: Buffer, answer: Buffer): void {
    switch (method) {
      case 'ListPodSandbox':
      case 'StreamPodSandboxes':
        this.#learnSandboxes(request, ListPodSandboxResponse.decode(answer).items);
        break;
      case 'ListContainers':
      case 'StreamContainers':
        this.#learnContainers(request, ListContainersResponse.decode(answer).containers);
        break;
      case 'PodSandboxStatus': {
        const response = PodSandboxStatusResponse.decode(answer);
        const { status, containersStatuses } = response;
        if (status === undefined) break;
        this.#sandboxStatuses.set(status.id, response);
        const known = this.#sandboxes.get(status.id);
        if (known !== undefined) this.#sandboxes.set(status.id, { ...known, state: status.state });
        if (known?.state !== status.state) this.#version++;
        for (const each of containersStatuses) this.#learnStatus({ status: each, info: {} });
        break;
      }
      case 'ContainerStatus':
        this.#learnStatus(ContainerStatusResponse.decode(answer));
        break;
      case 'GetContainerEvents':
        this.#learnEvent(ContainerEventResponse.decode(answer));
        break;
      default:
    }
  }

  #learnSandboxes(request: Buffer, items: readonly PodSandbox[]): void {
    const { filter } = ListPodSandboxRequest.decode(request);
    this.#version++;
    if (isEmptyFilter(filter)) this.#sandboxes.clear();
    else if (isByIdOnly(filter!)) {
      for (const [id, item] of this.#sandboxes) if (matchesSandbox(item, filter)) this.#sandboxes.delete(id);
    }
    for (const item of items) this.#sandboxes.set(item.id, item);
  }

  #learnContainers(request: Buffer, items: readonly Container[]): void {
    const { filter } = ListContainersRequest.decode(request);
    this.#version++;
    if (isEmptyFilter(filter)) this.#containers.clear();
    else if (isByIdOnly(filter!)) {
      for (const [id, item] of this.#containers)
        if (matchesContainer(item, filter)) this.#containers.delete(id);
    }
    for (const item of items) this.#containers.set(item.id, item);
  }

  #learnStatus(response: ContainerStatusResponse): void {
    const { status } = response;
    if (status === undefined) return;
    this.#statuses.set(status.id, response);
    const known = this.#containers.get(status.id);
    if (known !== undefined) this.#containers.set(status.id, { ...known, state: status.state });
    if (known?.state !== status.state) this.#version++;
  }

  #learnEvent(event: ContainerEventResponse): void {
    const { podSandboxStatus: sandbox, containersStatuses, containerId, containerEventType } = event;
    this.#version++;
    if (sandbox !== undefined) {
      const before = this.#sandboxStatuses.get(sandbox.id)?.info ?? {};
      this.#sandboxStatuses.set(sandbox.id, {
        ...{ status: sandbox, info: before, containersStatuses, timestamp: event.createdAt },
      });
      this.#sandboxes.set(sandbox.id, toSandbox(sandbox));
      for (const status of containersStatuses) {
        this.#statuses.set(status.id, { status, info: this.#statuses.get(status.id)?.info ?? {} });
        this.#containers.set(status.id, toContainer(status, sandbox.id));
      }
    }
    if (containerEventType !== ContainerEventType.CONTAINER_DELETED_EVENT) return;
    if (containersStatuses.some(({ id }) => id === containerId)) return;
    // The events of a sandbox bear its id.
    this.#containers.delete(containerId);
    this.#sandboxes.delete(containerId);
  }
}

function toSandbox(status: PodSandboxStatus): PodSandbox {
  const { id, metadata, state, createdAt, labels, annotations, runtimeHandler } = status;
  return { id, metadata, state, createdAt, labels, annotations, runtimeHandler };
}

function toContainer(status: ContainerStatus, podSandboxId: string): Container {
  const { id, metadata, state, createdAt, image, imageRef, labels, annotations, imageId } = status;
  return { id, podSandboxId, metadata, image, imageRef, state, createdAt, labels, annotations, imageId };
}

/** The status of a container that was recorded in lists only: unknown parts of its end are marked so. */
export function toContainerStatus(
  item: Container,
  known: ContainerStatus | undefined,
): ContainerStatusResponse {
  const { id, metadata, state, createdAt, image, imageRef, labels, annotations, imageId } = item;
  const told = { id, metadata, state, createdAt, image, imageRef, labels, annotations, imageId };
  const end = state === ContainerState.CONTAINER_EXITED ? { exitCode: 255, reason: 'NotRecorded' } : {};
  const base = known === undefined ? { status: told } : { status: { ...known, state } };
  return ContainerStatusResponse.fromPartial({ status: { ...base.status, ...end } });
}

/** The status of a sandbox that was recorded in lists only. */
export function toSandboxStatus(
  item: PodSandbox,
  known: PodSandboxStatus | undefined,
): PodSandboxStatusResponse {
  return PodSandboxStatusResponse.fromPartial({
    status: known === undefined ? item : { ...known, state: item.state },
  });
}
