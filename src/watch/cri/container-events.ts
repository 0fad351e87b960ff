import { messageOf } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

import { type CallOptions, type RawCaller } from './client-core.js';
import { type ContainerEventResponse } from './generated/runtime/v1/cri.js';
import { CRI_METHODS } from './methods.js';

/** Handlers that {@link readContainerEvents} calls synchronously as events arrive. */
export interface ContainerEventHandlers {
  /** The runtime has sent its headers. Go's servers send them together with the first event. */
  onOpen?(): void;
  onEvent(event: ContainerEventResponse): void;
  /** A message came that cannot be decoded. */
  onSkipped?(): void;
}

/**
 * Opens GetContainerEvents and reads it to its end without ever pausing.
 *
 * An unread stream blocks the runtime eventually, or makes it drop events, so nothing here waits for a
 * handler. A message that cannot be decoded is counted, logged and skipped: the next list shows what it said.
 * Resolves when the runtime ends the stream, rejects when it breaks, and rejects with the signal's reason.
 */
export async function readContainerEvents(
  client: RawCaller,
  handlers: ContainerEventHandlers,
  options: CallOptions & { readonly logger?: Logger } = {},
): Promise<void> {
  const method = CRI_METHODS.getContainerEvents;
  const logger = options.logger ?? SILENT_LOGGER;
  await client.streamBytes(
    method,
    {},
    {
      onOpen: () => handlers.onOpen?.(),
      onMessage: (bytes) => {
        let event: ContainerEventResponse;
        try {
          event = client.decodeMessage(method, bytes);
        } catch (error) {
          // The decoder has counted it.
          logger.warn('A container event cannot be decoded and is skipped', { err: messageOf(error) });
          handlers.onSkipped?.();
          return;
        }
        handlers.onEvent(event);
      },
    },
    options,
  );
}
