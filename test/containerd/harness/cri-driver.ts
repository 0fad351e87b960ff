import {
  Client,
  credentials,
  Metadata,
  status,
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
} from '../../../src/cri/generated/runtime/v1/cri.js';

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

/** Whether the call never got an answer because the runtime went away. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return code === status.UNAVAILABLE || code === status.CANCELLED || code === status.INTERNAL;
}
