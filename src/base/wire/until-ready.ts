import { type Socket } from 'node:net';
import { abortable } from '../async/abortable.js';

/**
 * Waits until `listen` hears that the connection is ready for use. Rejects with what it hears otherwise, or with the signal's
 * reason, and the connection is closed then.
 */
export async function untilReady(
  socket: Socket,
  signal: AbortSignal,
  listen: (resolve: () => void, reject: (error: Error) => void) => void,
): Promise<void> {
  try {
    await abortable(new Promise<void>(listen), signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
