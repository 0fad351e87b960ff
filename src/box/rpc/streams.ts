import { Metadata, type ServerWritableStream, status } from '@grpc/grpc-js';
import {
  type AttachRequest,
  type AttachResponse,
  type ContainerEventResponse,
  ContainerState,
  type ExecRequest,
  type ExecResponse,
  type GetEventsRequest,
  PodSandboxState,
  type PortForwardRequest,
  type PortForwardResponse,
} from '#watch/messages';
import { checkCommand } from './containers.js';
import { type RpcContext } from './rpc-context.js';
import { type Container } from '../container/container.js';
import { invalidArgument, refused } from '../rpc-error.js';
import { requireId } from './require-id.js';

/** CRI Attach: the URL at which a client finds the streams of a container's entrypoint, once and within a minute. */
export function attach(context: StreamingContext, request: AttachRequest): AttachResponse {
  const { id: containerId } = requireRunningContainer(context, request.containerId);
  checkStreams(request);
  const { tty, stdin, stdout, stderr } = request;
  return { url: context.streaming.grant({ kind: 'attach', containerId, tty, stdin, stdout, stderr }) };
}

/** CRI Exec: the URL at which a client finds the streams of a command, once and within a minute. */
export async function exec(context: StreamingContext, request: ExecRequest): Promise<ExecResponse> {
  const container = requireRunningContainer(context, request.containerId);
  const { id: containerId } = container;
  checkStreams(request);
  await checkCommand(container, request.cmd);
  const { cmd: argv, tty, stdin, stdout, stderr } = request;
  return { url: context.streaming.grant({ kind: 'exec', containerId, argv, tty, stdin, stdout, stderr }) };
}

/**
 * CRI GetContainerEvents: everything that happens from now on, to any number of readers.
 *
 * The answer's headers come at once and say that no later event will be missing. A reader that falls behind is
 * ended with UNAVAILABLE, so that it connects again and lists.
 */
export function getContainerEvents(
  { hub, logger }: RpcContext,
  call: ServerWritableStream<GetEventsRequest, ContainerEventResponse>,
): void {
  const { readerCapacity } = hub;
  const reader = hub.add({
    write: (event) => call.write(event),
    end: () => call.end(),
    drop: () => {
      logger.warn('Event reader dropped', { waiting: readerCapacity });
      const details = `this reader fell more than ${readerCapacity} events behind: connect again and list`;
      call.emit('error', { code: status.UNAVAILABLE, details });
    },
  });
  call.on('drain', () => reader.resume());
  call.on('cancelled', () => hub.remove(reader));
  call.on('close', () => hub.remove(reader));
  call.sendMetadata(new Metadata());
}

/** What the calls need that grant streams. */
type StreamingContext = Pick<RpcContext, 'pods' | 'streaming'>;

/** The container of that id; one that does not run is refused as containerd refuses it. */
function requireRunningContainer({ pods }: StreamingContext, containerId: string): Container {
  const container = pods.getContainer(requireId('container', containerId));
  if (container.running) return container;
  const [word] = Object.entries(ContainerState).find(([, state]) => state === container.state) ?? [
    'CONTAINER_UNKNOWN',
  ];
  throw refused(`container is in ${word} state`);
}

/** Refuses streams that cannot be, with INVALID_ARGUMENT. */
function checkStreams(streams: {
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}): void {
  const { tty, stdin, stdout, stderr } = streams;
  if (tty && stderr) throw invalidArgument('tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr) throw invalidArgument('one of stdin, stdout, or stderr must be set');
}

const LARGEST_PORT = 65_535;

/**
 * CRI PortForward: the URL at which a client forwards ports of a sandbox, once and within a minute.
 *
 * `port` matters to the old protocol by WebSocket channels alone: the others name a port for each connection.
 */
export function portForward(
  { pods, streaming }: StreamingContext,
  { podSandboxId, port: ports }: PortForwardRequest,
): PortForwardResponse {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  if (sandbox.state !== PodSandboxState.SANDBOX_READY) throw refused('sandbox container is not running');
  const wrong = ports.find((port) => port < 1 || port > LARGEST_PORT);
  if (wrong !== undefined) throw invalidArgument(`${wrong} is no port`);
  return { url: streaming.grant({ kind: 'portforward', sandboxId: sandbox.id, ports }) };
}
