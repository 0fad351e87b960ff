import { type CallControl } from '../../relay/index.js';
import { type Logger } from '#base/log/logger.js';

/**
 * Makes something that is done to a call later, by a timer say, safe to be called by anybody: what it throws is
 * logged and costs the call's connection, and nothing else.
 */
export function guardDeferred(
  logger: Logger,
  call: Pick<CallControl, 'path' | 'connectionId' | 'breakConnection'>,
  act: () => void,
): () => void {
  return () => {
    try {
      act();
    } catch (error) {
      const { path, connectionId } = call;
      logger.error('A fault could not be injected, the connection is cut', error, {
        ...{ path, connection: connectionId },
      });
      call.breakConnection();
    }
  };
}
