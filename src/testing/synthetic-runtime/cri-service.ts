import {
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  Metadata,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import {
  type ContainerEventResponse,
  type ContainerFilter,
  type ContainerStatusRequest,
  type GetEventsRequest,
  type ListContainersRequest,
  type ListPodSandboxRequest,
  type PodSandboxFilter,
  type PodSandboxStatusRequest,
  ImageServiceService,
  RuntimeServiceService,
  StatusResponse,
  type VersionResponse,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { type CallCounters } from './call-counters.js';
import { type EventStreams } from './event-streams.js';
import { type FaultGate } from './fault-gate.js';
import { type ListAnswers } from './list-answers.js';
import { type StatusAnswers } from './status-answers.js';
import { type SyntheticFaults } from './synthetic-control.js';
import { type SyntheticNode } from './synthetic-node.js';

/** What the service answers from. */
export interface CriServiceParts {
  readonly node: SyntheticNode;
  readonly lists: ListAnswers;
  readonly statuses: StatusAnswers;
  readonly gate: FaultGate;
  readonly events: EventStreams;
  readonly counters: CallCounters;
}

/** An error with a gRPC code, as the server wants it. */
class RpcError extends Error {
  readonly code: status;
  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

// Made once: the library says so of every call, at the latest when it has ended, and an error of its own costs each of
// them a stack.
const CALLER_GONE = new RpcError(status.CANCELLED, 'the caller went away');

const asBytes = { responseSerialize: (bytes: Buffer): Buffer => bytes };

/** The methods that are served; the others answer Unimplemented. Lists and statuses leave as the bytes they are. */
export const SYNTHETIC_SERVICE: ServiceDefinition = {
  version: RuntimeServiceService.version,
  status: RuntimeServiceService.status,
  listContainers: { ...RuntimeServiceService.listContainers, ...asBytes },
  listPodSandbox: { ...RuntimeServiceService.listPodSandbox, ...asBytes },
  streamContainers: { ...RuntimeServiceService.streamContainers, ...asBytes },
  streamPodSandboxes: { ...RuntimeServiceService.streamPodSandboxes, ...asBytes },
  containerStatus: { ...RuntimeServiceService.containerStatus, ...asBytes },
  podSandboxStatus: { ...RuntimeServiceService.podSandboxStatus, ...asBytes },
  getContainerEvents: RuntimeServiceService.getContainerEvents,
  listImages: ImageServiceService.listImages,
};

/** Items in one message of a streamed list. */
const ITEMS_PER_MESSAGE = 100;

/** The implementation that goes with {@link SYNTHETIC_SERVICE}. */
export function createCriService(parts: CriServiceParts): UntypedServiceImplementation {
  const { node, lists, statuses, gate, events, counters } = parts;

  function unary<Request, Response>(
    method: string,
    answer: (request: Request, signal: AbortSignal) => Promise<Response>,
  ) {
    return (call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>): void => {
      const end = counters.begin(method);
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort(CALLER_GONE));
      answer(call.request, gone.signal)
        .then(
          (response) => callback(null, response),
          (error: unknown) => callback(toServiceError(error)),
        )
        .finally(end);
    };
  }

  async function passAsList(signal: AbortSignal): Promise<void> {
    await gate.until((faults) => !faults.listsHang, signal);
    await delay(gate.faults.listDelayMs, signal);
    if (gate.faults.listFailure !== status.OK)
      throw new RpcError(gate.faults.listFailure, 'the list fails on purpose');
  }

  async function passAsStatus(
    uid: string,
    hung: (faults: SyntheticFaults) => readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    // A call that hangs keeps no slot: it stands for one stuck pod, not for a busy server.
    await gate.until((faults) => !hung(faults).includes(uid), signal);
    await gate.inStatusSlot(() => delay(gate.faults.statusDelayMs, signal), signal);
  }

  function streamed<Request>(method: string, messages: (request: Request) => Iterable<Buffer>) {
    return (call: ServerWritableStream<Request, Buffer>): void => {
      const end = counters.begin(method);
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort(CALLER_GONE));
      const serve = async (): Promise<void> => {
        if (!gate.faults.streamingLists) throw new RpcError(status.UNIMPLEMENTED, `unknown method ${method}`);
        await passAsList(gone.signal);
        for (const message of messages(call.request)) call.write(message);
      };
      serve()
        .then(
          () => call.end(),
          (error: unknown) => call.emit('error', toServiceError(error)),
        )
        .finally(end);
    };
  }

  return {
    version: unary('Version', async (): Promise<VersionResponse> => ({
      version: '0.1.0',
      runtimeName: 'synthetic',
      runtimeVersion: '1.0.0',
      runtimeApiVersion: 'v1',
    })),
    status: unary('Status', async () => {
      const { networkNotReady: message } = gate.faults;
      const network =
        message === '' ? { status: true } : { status: false, reason: 'NetworkPluginNotReady', message };
      return StatusResponse.fromPartial({
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true },
            { type: 'NetworkReady', ...network },
          ],
        },
      });
    }),
    listContainers: unary('ListContainers', async (request: ListContainersRequest, signal) => {
      await passAsList(signal);
      return lists.containers(request.filter);
    }),
    listPodSandbox: unary('ListPodSandbox', async (request: ListPodSandboxRequest, signal) => {
      await passAsList(signal);
      return lists.sandboxes(request.filter);
    }),
    streamContainers: streamed('StreamContainers', (request: { filter: ContainerFilter | undefined }) =>
      lists.containerMessages(request.filter, ITEMS_PER_MESSAGE),
    ),
    streamPodSandboxes: streamed('StreamPodSandboxes', (request: { filter: PodSandboxFilter | undefined }) =>
      lists.sandboxMessages(request.filter, ITEMS_PER_MESSAGE),
    ),
    containerStatus: unary('ContainerStatus', async (request: ContainerStatusRequest, signal) => {
      const uid = node.findPodOf(request.containerId)?.uid ?? '';
      await passAsStatus(uid, (faults) => faults.hungPods, signal);
      const code = gate.faults.failingPods[uid];
      if (code !== undefined) throw new RpcError(code, 'the status fails on purpose');
      const pod = node.findPodOf(request.containerId);
      const container = pod?.containers.find(({ id }) => id === request.containerId);
      if (pod === undefined || container === undefined) throw notFound('container', request.containerId);
      return statuses.container(pod, container);
    }),
    podSandboxStatus: unary('PodSandboxStatus', async (request: PodSandboxStatusRequest, signal) => {
      const uid = node.findPodOf(request.podSandboxId)?.uid ?? '';
      await passAsStatus(uid, (faults) => faults.hungSandboxes, signal);
      const pod = node.findPodOf(request.podSandboxId);
      if (pod?.sandboxId !== request.podSandboxId) throw notFound('sandbox', request.podSandboxId);
      return statuses.sandbox(pod);
    }),
    // Its containers have images by name alone.
    listImages: unary('ListImages', () => Promise.resolve({ images: [] })),
    getContainerEvents: (call: ServerWritableStream<GetEventsRequest, ContainerEventResponse>): void => {
      const end = counters.begin('GetContainerEvents');
      const kind = gate.faults.events;
      if (kind === 'on') {
        if (gate.faults.eventHeadersAtOnce) call.sendMetadata(new Metadata());
        events.open(call, end);
        return;
      }
      if (kind === 'ended') call.end();
      else
        call.emit(
          'error',
          toServiceError(new RpcError(status.UNIMPLEMENTED, 'unknown method GetContainerEvents')),
        );
      end();
    },
  };
}

function notFound(what: string, id: string): RpcError {
  return new RpcError(status.NOT_FOUND, `an error occurred when try to find ${what} "${id}": not found`);
}

function toServiceError(error: unknown): { code: status; details: string } {
  if (error instanceof RpcError) return { code: error.code, details: error.message };
  return { code: status.INTERNAL, details: String(error) };
}

/**
 * Waits so long, or rejects with the signal's reason.
 *
 * A timer counts from when the turn of the event loop began, for all calls that arrived in it: their answers would
 * leave together and come back as another such crowd. Here each call has its own time.
 */
async function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return;
  const dueMs = performance.now() + ms;
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const expired = (): void => {
      const leftMs = dueMs - performance.now();
      if (leftMs > 0) {
        timer = setTimeout(expired, Math.ceil(leftMs));
        return;
      }
      signal.removeEventListener('abort', stop);
      resolve();
    };
    let timer = setTimeout(expired, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
