import { ContainerState } from '#watch/messages';
import { type Container } from '../../container/container.js';
import { invalidArgument, refused } from '../../rpc-error.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** What the calls need that grant streams. */
export type StreamingContext = Pick<RpcContext, 'pods' | 'streaming'>;

/** The container of that id; one that does not run is refused as containerd refuses it. */
export function requireRunningContainer({ pods }: StreamingContext, containerId: string): Container {
  const container = pods.getContainer(requireId('container', containerId));
  if (container.running) return container;
  const [word] = Object.entries(ContainerState).find(([, state]) => state === container.state) ?? [
    'CONTAINER_UNKNOWN',
  ];
  throw refused(`container is in ${word} state`);
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
