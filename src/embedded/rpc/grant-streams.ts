import { ContainerState } from '../../cri/generated/runtime/v1/cri.js';
import { type Container } from '../container.js';
import { invalidArgument, refused } from '../rpc-error.js';
import { type StreamingServer } from '../streaming/streaming-server.js';
import { requireId } from './require-id.js';
import { type RpcContext } from './rpc-context.js';

/** What the calls need that grant streams. */
export interface StreamingContext extends Pick<RpcContext, 'pods'> {
  readonly streaming: Pick<StreamingServer, 'grant'>;
}

/** The container of that id; one that does not run is refused as containerd refuses it. */
export function requireRunningContainer({ pods }: StreamingContext, containerId: string): Container {
  const container = pods.getContainer(requireId('container', containerId));
  if (container.running) return container;
  throw refused(`container is in ${ContainerState[container.state]} state`);
}

/** Refuses streams that cannot be, with INVALID_ARGUMENT. */
export function checkStreams(streams: {
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}): void {
  const { tty, stdin, stdout, stderr } = streams;
  if (tty && stderr) throw invalidArgument('tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr) throw invalidArgument('one of stdin, stdout, or stderr must be set');
}
