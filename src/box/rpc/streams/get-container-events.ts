import { Metadata, status, type ServerWritableStream } from '@grpc/grpc-js';
import { type ContainerEventResponse, type GetEventsRequest } from '#watch/messages';
import { type RpcContext } from '../rpc-context.js';

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
