import {
  Client,
  credentials,
  Metadata,
  type status,
  type ClientReadableStream,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';

import {
  ImageServiceService,
  RuntimeServiceService,
  type ContainerConfig,
  type ContainerEventResponse,
  type PodSandboxConfig,
} from '../../../src/watch/cri/generated/runtime/v1/cri.js';

/** RuntimeService and ImageService of CRI: pass one to {@link CriDriver.call}. */
export const runtimeService = RuntimeServiceService;
export const imageService = ImageServiceService;

/**
 * The tests' own hand on a runtime: bare calls over a channel of their own, so that what they drive and what they
 * check owes nothing to the client under test.
 */
export class CriDriver {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix://${socket}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      // The runtime is killed and restarted under us: notice it soon.
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.min_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 200,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  /** One unary call. Rejects with grpc-js' ServiceError. */
  call<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: Request,
    { deadlineMs = 60_000, waitForReady = false }: { deadlineMs?: number; waitForReady?: boolean } = {},
  ): Promise<Response> {
    const metadata = new Metadata({ waitForReady });
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null, response?: Response) => {
          // gRPC gives a response whenever it gives no error.
          if (error === null) resolve(response!);
          else reject(error);
        },
      );
    });
  }

  /** The runtime's own event stream. On containerd 1.7 a second reader takes events away from the first. */
  events(): ClientReadableStream<ContainerEventResponse> {
    const method = RuntimeServiceService.getContainerEvents;
    return this.#client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      {},
    );
  }

  /** Runs a sandbox and answers with its id. */
  async runSandbox(config: PodSandboxConfig): Promise<string> {
    const { podSandboxId } = await this.call(runtimeService.runPodSandbox, { config, runtimeHandler: '' });
    return podSandboxId;
  }

  /** Creates a container and answers with its id. */
  async createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
  ): Promise<string> {
    const { containerId } = await this.call(runtimeService.createContainer, {
      podSandboxId,
      config,
      sandboxConfig,
    });
    return containerId;
  }

  async startContainer(containerId: string): Promise<void> {
    await this.call(runtimeService.startContainer, { containerId });
  }

  /**
   * Creates a container, starts it and answers with its id. Where the start fell to {@link isShimSocketRace}, the
   * container is removed and made anew, three times at most: whoever drives pods on such a runtime has to.
   */
  async runContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
  ): Promise<string> {
    for (let triesLeft = 3; ; triesLeft--) {
      const containerId = await this.createContainer(podSandboxId, config, sandboxConfig);
      try {
        await this.startContainer(containerId);
        return containerId;
      } catch (error) {
        if (triesLeft === 0 || !isShimSocketRace(error)) throw error;
        console.log(`container ${containerId} is made anew: ${String(error)}`);
        await this.call(runtimeService.removeContainer, { containerId });
      }
    }
  }

  /** Stops and removes every sandbox and so every container. Answers with what could not be removed. */
  async removeAllPods(): Promise<string[]> {
    const { items } = await this.call(
      runtimeService.listPodSandbox,
      { filter: undefined },
      { deadlineMs: 20_000 },
    );
    const failures: string[] = [];
    const waiting = items.map((item) => item.id);
    const worker = async (): Promise<void> => {
      for (let podSandboxId = waiting.pop(); podSandboxId !== undefined; podSandboxId = waiting.pop()) {
        try {
          await this.call(runtimeService.stopPodSandbox, { podSandboxId }, { deadlineMs: 30_000 });
          await this.call(runtimeService.removePodSandbox, { podSandboxId }, { deadlineMs: 30_000 });
        } catch (error) {
          failures.push(`${podSandboxId}: ${String(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: 6 }, worker));
    return failures;
  }

  close(): void {
    this.#client.close();
  }
}

/** The gRPC code of what a {@link CriDriver} rejected with; undefined for any other error. */
export function codeOf(error: unknown): status | undefined {
  const code = error instanceof Error ? (error as Partial<ServiceError>).code : undefined;
  return typeof code === 'number' ? code : undefined;
}

/**
 * Whether a container was not started because the shim of the one before it in its pod took the new one's socket away.
 *
 * Up to containerd 1.7 each start asks at the pod's socket, for 100 ms, whether a shim answers there. On a machine that is
 * busy for longer, none seems to: the start replaces the socket, and from then on each container of that pod gets a
 * shim of its own, which ends with it and removes the pod's socket two times. The next start has bound its socket to
 * that path by the second time, if it is quick, and finds nothing there whose mode it can set.
 */
function isShimSocketRace(error: unknown): boolean {
  return /create new shim socket: chmod failed for \S+: .*no such file or directory/.test(String(error));
}
