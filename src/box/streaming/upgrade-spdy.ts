import { refuseUpgrade } from './http-refusal.js';
import { listNames, negotiateProtocol } from './negotiate-protocol.js';
import { serveSpdy } from './sessions/serve-spdy.js';
import { SPDY_COMMAND_PROTOCOLS } from './sessions/spdy-command.js';
import { PORT_FORWARD_PROTOCOL } from './sessions/spdy-port-forward.js';
import { FLOW_CONTROL_HEADER, FLOW_CONTROL_WINDOWS } from '#base/wire/spdy/spdy-frame.js';
import { type StreamingServices } from './streaming-services.js';
import { type UpgradeRequest } from './upgrade-request.js';

const PROTOCOL_HEADER = 'x-stream-protocol-version';

/** Refuses a request for SPDY/3.1, or upgrades it and calls `onSession` as WebSocketUpgrades does. */
export function upgradeToSpdy(
  services: StreamingServices,
  { grant, request, socket, head }: UpgradeRequest,
  onSession: (session: Promise<void>) => void,
): void {
  const asked = listNames(request.headers, PROTOCOL_HEADER);
  const supported = grant.kind === 'portforward' ? [PORT_FORWARD_PROTOCOL] : SPDY_COMMAND_PROTOCOLS;
  const protocol = negotiateProtocol(asked, supported);
  if (asked.length === 0) {
    refuseUpgrade(socket, 400, `the header ${PROTOCOL_HEADER} is missing`);
  } else if (protocol === undefined) {
    const accepted = supported.map((name) => `X-Accepted-Stream-Protocol-Versions: ${name}`);
    refuseUpgrade(socket, 403, `none of ${asked.join(', ')} is spoken here`, accepted);
  } else {
    const lines = ['101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
    lines.push(`X-Stream-Protocol-Version: ${protocol}`);
    const clientCounts = request.headers[FLOW_CONTROL_HEADER] === FLOW_CONTROL_WINDOWS;
    if (clientCounts) lines.push(`${FLOW_CONTROL_HEADER}: ${FLOW_CONTROL_WINDOWS}`);
    socket.write(`HTTP/1.1 ${lines.join('\r\n')}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    onSession(serveSpdy(services, { grant, protocol, transport: socket, clientCounts }));
  }
}
