import { type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { SpdyClientSession } from '../../spdy/spdy-client-session.js';
import { type AgentClient } from '../api/agent-client.js';
import { toApiError } from '../api/api-status.js';

/** The protocol in X-Stream-Protocol-Version. */
const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';

/** Where a connection goes to. */
export interface ForwardTarget {
  /** Of the pod, with `/portforward` behind it. */
  readonly path: string;
  readonly port: number;
}

/**
 * Carries one connection to a port of a pod, each direction up to its own end.
 *
 * Each has a connection of its own to the runtime, so that one that is read slowly holds up no other. Resolves when it
 * is over; rejects with a CommandFailure when the agent refuses, and with an Error that says what went wrong in the pod.
 */
export async function forwardConnection(
  client: AgentClient,
  local: Socket,
  target: ForwardTarget,
): Promise<void> {
  const { path, port } = target;
  const upgrade = await client.upgrade('POST', path, {
    query: { ports: port },
    headers: {
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': PORT_FORWARD_PROTOCOL,
    },
  });
  if ('refused' in upgrade) throw toApiError(upgrade.code, upgrade.refused);
  const session = new SpdyClientSession(upgrade.socket);
  const headers = { port: String(port), requestid: '0' };
  const error = session.open({ streamtype: 'error', ...headers });
  error.outbound.end();
  const data = session.open({ streamtype: 'data', ...headers });
  const onClose = (): void => session.destroy();
  const onAbort = (): void => {
    local.destroy();
    session.destroy();
  };
  client.signal.addEventListener('abort', onAbort, { once: true });
  local.once('close', onClose);
  try {
    const failed = text(error.inbound).catch(() => '');
    const sending = pipeline(local, data.outbound).catch(() => undefined);
    const receiving = pipeline(data.inbound, local, { end: true }).catch(() => undefined);
    const message = await Promise.race([failed, Promise.all([sending, receiving]).then(() => failed)]);
    if (message !== '') throw new Error(message);
    await Promise.all([sending, receiving]);
  } finally {
    local.off('close', onClose);
    client.signal.removeEventListener('abort', onAbort);
    local.destroy();
    session.close();
  }
}
