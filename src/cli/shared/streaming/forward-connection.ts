import { type Socket } from 'node:net';
import { type ForwardSessions } from './forward-sessions.js';
import { joinConnection, readMessage } from './join-connection.js';

/**
 * Carries one connection to a port of a pod, each direction up to its own end.
 *
 * The connection is closed in the end. Resolves then; rejects with a CommandFailure when the agent refuses, and with an
 * Error that says what went wrong in the pod.
 */
export async function forwardConnection(
  sessions: Pick<ForwardSessions, 'connect'>,
  local: Socket,
  port: number,
): Promise<void> {
  const { data, error, release, retire } = await sessions.connect(port).catch((failure: unknown) => {
    local.destroy();
    throw failure;
  });
  try {
    const failed = readMessage(error.inbound);
    const joined = joinConnection(local, data);
    // A message that is still under way may follow the end of the data.
    const over = joined.then(() => {
      release();
      return failed;
    });
    const message = await Promise.race([failed, over]);
    if (message !== '') {
      // It may be that of a pod that has a new sandbox by now.
      retire();
      throw new Error(message);
    }
    const broken = await joined;
    if (broken !== undefined) throw new Error(`lost connection to pod: ${broken.message}`);
  } finally {
    local.destroy();
    release();
  }
}
