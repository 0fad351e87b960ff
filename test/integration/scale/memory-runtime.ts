import { matchesLabels } from '#base/text/matches-labels.js';
import { type sendUnaryData, type ServerUnaryCall, type ServerWritableStream, status } from '@grpc/grpc-js';
import { cri } from '../../../src/watch/cri/index.js';
import { CriTestServer } from '#support/clients/cri-test-server.js';
import { type MemoryContainer, MemoryPods, type MemorySandbox } from './memory-pods.js';

type EventReader = ServerWritableStream<cri.GetEventsRequest, cri.ContainerEventResponse>;

const IMAGE_ID = `sha256:${'a'.repeat(64)}`;

/**
 * A CRI server that does what it is told, in memory and at once: for nodes of sizes that no test machine can run, where
 * what the agent asks for is counted and not how long it takes.
 */
export class MemoryRuntime implements AsyncDisposable {
  readonly pods: MemoryPods;
  /** Calls so far, by method; looks at one pod under the method's name and `(one)`. */
  readonly calls = new Map<string, number>();
  readonly #readers = new Set<EventReader>();
  #server: CriTestServer | undefined;
  #eventsSent = 0;

  static async start(): Promise<MemoryRuntime> {
    const runtime = new MemoryRuntime();
    runtime.#server = await CriTestServer.start({ handlers: runtime.#handlers() });
    return runtime;
  }

  private constructor() {
    this.pods = new MemoryPods((type, id, sandboxId) => this.#publish(type, id, sandboxId));
  }

  get endpoint(): string {
    return this.#server!.endpoint;
  }

  get eventsSent(): number {
    return this.#eventsSent;
  }

  /** Events that no reader has taken yet: each is on its own way, and a process without a CPU gets few of them there. */
  get eventsUnderWay(): number {
    return Math.max(0, ...[...this.#readers].map(({ writableLength }) => writableLength));
  }

  count(method: string): number {
    return this.calls.get(method) ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  #publish(containerEventType: cri.ContainerEventType, containerId: string, sandboxId: string): void {
    const sandbox = this.pods.sandboxes.get(sandboxId);
    for (const reader of this.#readers) {
      const podSandboxStatus = sandbox === undefined ? undefined : toSandboxStatus(sandbox);
      const createdAt = BigInt(Date.now()) * 1_000_000n;
      const event = { containerId, containerEventType, createdAt, podSandboxStatus, containersStatuses: [] };
      reader.write(event);
      this.#eventsSent++;
    }
  }

  #counted<Request, Response>(
    method: string,
    answer: (request: Request) => Response | undefined,
    isOne: (request: Request) => boolean = () => false,
  ) {
    return (call: ServerUnaryCall<Request, Response>, reply: sendUnaryData<Response>): void => {
      const name = isOne(call.request) ? `${method} (one)` : method;
      this.calls.set(name, this.count(name) + 1);
      const response = answer(call.request);
      if (response === undefined) reply({ code: status.NOT_FOUND, details: 'not found' });
      else reply(null, response);
    };
  }

  #handlers(): NonNullable<NonNullable<Parameters<typeof CriTestServer.start>[0]>['handlers']> {
    const { pods } = this;
    return {
      version: this.#counted('Version', () => ({
        ...{ version: '0.1.0', runtimeName: 'memory', runtimeVersion: '1.0.0', runtimeApiVersion: 'v1' },
      })),
      status: this.#counted('Status', () =>
        cri.StatusResponse.fromPartial({
          status: { conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true })) },
        }),
      ),
      listPodSandbox: this.#counted(
        'ListPodSandbox',
        ({ filter }: cri.ListPodSandboxRequest) => ({ items: this.#listSandboxes(filter) }),
        ({ filter }) => isNarrow(filter),
      ),
      listContainers: this.#counted(
        'ListContainers',
        ({ filter }: cri.ListContainersRequest) => ({ containers: this.#listContainers(filter) }),
        ({ filter }) => isNarrow(filter),
      ),
      podSandboxStatus: this.#counted('PodSandboxStatus', ({ podSandboxId }: cri.PodSandboxStatusRequest) => {
        const sandbox = pods.sandboxes.get(podSandboxId);
        return sandbox && cri.PodSandboxStatusResponse.fromPartial({ status: toSandboxStatus(sandbox) });
      }),
      containerStatus: this.#counted('ContainerStatus', ({ containerId }: cri.ContainerStatusRequest) => {
        const container = pods.containers.get(containerId);
        return container && cri.ContainerStatusResponse.fromPartial({ status: toContainerStatus(container) });
      }),
      runPodSandbox: this.#counted('RunPodSandbox', ({ config }: cri.RunPodSandboxRequest) => ({
        podSandboxId: pods.runSandbox(config!),
      })),
      stopPodSandbox: this.#counted('StopPodSandbox', ({ podSandboxId }: cri.StopPodSandboxRequest) => {
        pods.stopSandbox(podSandboxId);
        return {};
      }),
      removePodSandbox: this.#counted('RemovePodSandbox', ({ podSandboxId }: cri.RemovePodSandboxRequest) => {
        pods.removeSandbox(podSandboxId);
        return {};
      }),
      createContainer: this.#counted(
        'CreateContainer',
        ({ podSandboxId, config }: cri.CreateContainerRequest) => ({
          containerId: pods.create(podSandboxId, config!),
        }),
      ),
      startContainer: this.#counted('StartContainer', ({ containerId }: cri.StartContainerRequest) => {
        pods.start(containerId);
        return {};
      }),
      stopContainer: this.#counted('StopContainer', ({ containerId }: cri.StopContainerRequest) => {
        pods.stop(containerId);
        return {};
      }),
      removeContainer: this.#counted('RemoveContainer', ({ containerId }: cri.RemoveContainerRequest) => {
        pods.removeContainer(containerId);
        return {};
      }),
      imageStatus: this.#counted('ImageStatus', ({ image }: cri.ImageStatusRequest) =>
        cri.ImageStatusResponse.fromPartial({
          image: { id: IMAGE_ID, repoTags: [image?.image ?? ''], size: 1n },
        }),
      ),
      listImages: this.#counted('ListImages', () => ({ images: [] })),
      imageFsInfo: this.#counted('ImageFsInfo', () => ({ imageFilesystems: [], containerFilesystems: [] })),
      getContainerEvents: (reader: EventReader) => {
        this.#readers.add(reader);
        const leave = (): boolean => this.#readers.delete(reader);
        for (const name of ['cancelled', 'close', 'error']) reader.on(name, leave);
      },
    };
  }

  #listSandboxes(filter: cri.PodSandboxFilter | undefined): cri.PodSandbox[] {
    const items = [...this.pods.sandboxes.values()].filter(({ id, config }) => {
      return (filter?.id ?? '') === '' || filter?.id === id
        ? matchesLabels(config.labels, filter?.labelSelector ?? {})
        : false;
    });
    return items.map(({ id, config, state, createdAt }) => {
      const { metadata, labels, annotations } = config;
      return { id, metadata, state, createdAt, labels, annotations, runtimeHandler: '' };
    });
  }

  #listContainers(filter: cri.ContainerFilter | undefined): cri.Container[] {
    const items = [...this.pods.containers.values()].filter(({ id, sandboxId, config }) => {
      if ((filter?.id ?? '') !== '' && filter?.id !== id) return false;
      if ((filter?.podSandboxId ?? '') !== '' && filter?.podSandboxId !== sandboxId) return false;
      return matchesLabels(config.labels, filter?.labelSelector ?? {});
    });
    return items.map(({ id, sandboxId: podSandboxId, config, state, createdAt }) => {
      const { metadata, labels, annotations, image } = config;
      const images = { image, imageRef: IMAGE_ID, imageId: IMAGE_ID };
      return { id, podSandboxId, metadata, state, createdAt, labels, annotations, ...images };
    });
  }
}

function isNarrow(filter: { id: string; labelSelector: Record<string, string> } | undefined): boolean {
  return filter !== undefined && (filter.id !== '' || Object.keys(filter.labelSelector).length > 0);
}

function toSandboxStatus({ id, config, state, createdAt, ip }: MemorySandbox): cri.PodSandboxStatus {
  const { metadata, labels, annotations } = config;
  const network = { ip, additionalIps: [] };
  return cri.PodSandboxStatus.fromPartial({ id, metadata, state, createdAt, network, labels, annotations });
}

function toContainerStatus(container: MemoryContainer): cri.ContainerStatus {
  const { id, config, state, createdAt, startedAt, finishedAt, exitCode } = container;
  const { metadata, labels, annotations, image } = config;
  const reason = finishedAt === 0n ? '' : exitCode === 0 ? 'Completed' : 'Error';
  return cri.ContainerStatus.fromPartial({
    ...{ id, metadata, state, createdAt, startedAt, finishedAt, exitCode, reason, labels, annotations },
    ...{ image, imageRef: IMAGE_ID, imageId: IMAGE_ID },
  });
}
