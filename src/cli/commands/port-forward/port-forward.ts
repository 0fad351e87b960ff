import { isIP, type Socket } from 'node:net';
import { Command, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '#base/errors/errors.js';
import { untilAborted } from '#base/async/until-aborted.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { type EndpointsObject, type ServiceObject } from '#kube/columns/service-columns.js';
import { findPodOf } from '../../shared/pods/pods-of-object.js';
import { findResourceType, isResourceType, pathOf, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { forwardConnection } from '../../shared/streaming/forward-connection.js';
import { ForwardSessions } from '../../shared/streaming/forward-sessions.js';
import { type ForwardedPort, readForwardedPorts } from '../../shared/streaming/forwarded-ports.js';
import { closeListeners, listenLocally } from '../../shared/streaming/local-listeners.js';
import { findServiceTarget } from './service-target.js';
import { wrapNotes } from '../../help-layout.js';

interface PortForwardFlags extends SessionFlags {
  readonly address: readonly string[];
}

const HELP = `
Examples:
  # Port 8080 of this machine's loopback is port 80 of the pod, up to Ctrl-C
  podloop port-forward web 8080:80

  # Any free port, for a port that the pod gives a name
  podloop port-forward pod/web :http

  # Port 80 of a Service, by a pod of it that is ready now
  podloop port-forward svc/web 8080:80`;

/** `podloop port-forward`: ports of this machine that are ports of a pod. */
export function portForwardCommand(host: CliHost): Command {
  const command = new Command('port-forward')
    .description('Forward ports of this machine to a pod.')
    .argument('<pod>', 'Name of the pod, as in "web" or "pod/web", or of a Service, as in "svc/web"')
    .argument('<port...>', '[LOCAL:]REMOTE, by number or by the name that the pod or the Service gives it');
  return addSessionFlags(command)
    .addOption(
      new Option('--address <addresses>', 'Addresses to listen on, or localhost, separated by commas')
        .argParser(parseAddresses)
        .default(['127.0.0.1'], '127.0.0.1'),
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (pod: string, ports: string[], flags: PortForwardFlags) => {
      await withAgent(host, flags, (session) => forward(pod, ports, flags, session, host));
    });
}

function parseAddresses(text: string): readonly string[] {
  const addresses = text.split(',').map((address) => address.trim());
  const wrong = addresses.find((address) => address !== 'localhost' && isIP(address) === 0);
  if (wrong !== undefined) throw new InvalidArgumentError(`${wrong} is not a valid IP`);
  return addresses;
}

async function forward(
  given: string,
  givenPorts: readonly string[],
  { address }: PortForwardFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { client, namespace } = session;
  const { word, ports } = await readTarget(given, givenPorts, session);
  const pod = await findPodOf(word, session, async () => Promise.resolve());
  const path = pathOf(PODS, namespace, pod.metadata?.name ?? word);
  const wanted = readForwardedPorts(ports, pod);
  const { phase = 'Unknown' } = pod.status ?? {};
  if (phase !== 'Running') {
    throw failure(`unable to forward port because pod is not running. Current status=${phase}`);
  }
  const lost = new AbortController();
  const signal = AbortSignal.any([session.signal, lost.signal]);
  using sessions = new ForwardSessions({
    ...{ client, path: `${path}/portforward`, clock: host.clock },
    ports: [...new Set(wanted.map(({ remote }) => remote))],
  });
  const carry = async (socket: Socket, { local, remote }: ForwardedPort): Promise<void> => {
    await host.stdout.writeLine(`Handling connection for ${local}`);
    try {
      await forwardConnection(sessions, socket, remote);
    } catch (error) {
      socket.destroy();
      if (signal.aborted) return;
      await host.stderr.writeLine(
        `error: an error occurred forwarding ${local} -> ${remote}: ${escapeTerminal(wordsOf(error))}`,
      );
      // The pod has gone for good.
      if (error instanceof ApiError && error.code === 404) lost.abort();
    }
  };
  const open = new Set<Socket>();
  const listeners = await listenLocally(wanted, address, (socket, port) => {
    open.add(socket);
    void carry(socket, port).finally(() => open.delete(socket));
  });
  try {
    for (const { address: at, local, remote } of listeners) {
      await host.stdout.writeLine(`Forwarding from ${at}:${local} -> ${remote}`);
    }
    await untilAborted(signal);
  } finally {
    closeListeners(listeners);
    for (const socket of open) socket.destroy();
  }
  if (lost.signal.aborted) throw failure('lost connection to pod');
}

/** The pod behind a Service, which its ports are asked of from then on; a pod as it is. */
async function readTarget(
  word: string,
  ports: readonly string[],
  { client, namespace }: AgentSession,
): Promise<{ readonly word: string; readonly ports: readonly string[] }> {
  const [kind = '', name = '', ...rest] = word.split('/');
  const isService =
    name !== '' && rest.length === 0 && isResourceType(kind) && findResourceType(kind) === SERVICES;
  if (!isService) return { word, ports };
  const service: ServiceObject = await client.get(pathOf(SERVICES, namespace, name));
  const endpoints: EndpointsObject = await client.get(pathOf(ENDPOINTS, namespace, name));
  const found = findServiceTarget(ports, service, endpoints);
  return { word: found.podName, ports: found.ports };
}

const SERVICES = findResourceType('services');
const ENDPOINTS = findResourceType('endpoints');

function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return error.told;
  return error instanceof CommandFailure ? error.lines.join(' ') : messageOf(error);
}
