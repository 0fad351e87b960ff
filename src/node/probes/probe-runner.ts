import { connect } from 'node:net';
import { type Container, type HttpGetAction, type Probe } from '#kube/container/container.js';
import { expandVariables, MAX_EXPANDED } from '../runtime/config/container-environment.js';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { probeByExec } from './exec-probe.js';
import { probeByGrpc } from './grpc-probe.js';
import { probeByHttp } from './http-probe.js';
import { probeHeaders, probeUrl } from './http-probe-request.js';
import { type RunProbe } from './probe-judge.js';
import { type ProbeOutcome, silent, succeeded } from './probe-outcome.js';
import { type ProbeRun } from './probe-worker.js';
import { UnansweredCommands } from './unanswered-commands.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type DialAddress, outcomeOfSocketError } from './socket-error.js';

/** Options of {@link probeRunner}. */
export interface ProbeRunnerOptions {
  readonly clock: Clock;
  /** Runs the commands of exec probes. */
  readonly commands: Pick<RuntimeChanges, 'execSync'>;
  /**
   * User agent of HTTP and gRPC probes (default: `kube-probe/1.37`). Servers recognize probes by
   * `kube-probe/`.
   */
  readonly userAgent?: string;
}

interface RunnerParts extends ProbeRunnerOptions {
  readonly unansweredCommands: UnansweredCommands;
}

/** Runs a probe with the handler that it names: exec, httpGet, tcpSocket or grpc. */
export function probeRunner(options: ProbeRunnerOptions): RunProbe {
  const unansweredCommands = new UnansweredCommands({ clock: options.clock });
  return async (run, signal) => await runHandler(run, { ...options, unansweredCommands }, signal);
}

async function runHandler(
  run: ProbeRun,
  { clock, commands, unansweredCommands, userAgent = 'kube-probe/1.37' }: RunnerParts,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { exec, httpGet, tcpSocket, grpc }: Probe = run.probe;
  const { pod, container, containerId, type, timeoutMs } = run;
  if (exec !== undefined) {
    const command = expandWritten(exec.command, container);
    const parts = { clock, commands, unansweredCommands };
    return await probeByExec({ ...parts, pod, containerId, type, command, timeoutMs }, signal);
  }
  if (httpGet !== undefined) {
    const url = probeUrl(httpGet, hostOf(httpGet, run), resolvePort(httpGet.port, container));
    return await probeByHttp({ clock, url, headers: probeHeaders(httpGet, userAgent), timeoutMs }, signal);
  }
  if (tcpSocket !== undefined) {
    const address = { host: hostOf(tcpSocket, run), port: resolvePort(tcpSocket.port, container) };
    return await probeByTcp({ clock, address, timeoutMs }, signal);
  }
  if (grpc !== undefined) {
    const address = { host: hostOf({}, run), port: grpc.port };
    return await probeByGrpc({ clock, address, service: grpc.service ?? '', userAgent, timeoutMs }, signal);
  }
  throw new Error(`missing probe handler for ${pod.namespace}/${pod.name}:${container.name}`);
}

/**
 * Expands variables as a kubelet does for probes: only with literal values of the manifest.
 *
 * A variable whose value comes from elsewhere is empty here.
 */
function expandWritten(command: readonly string[], { env = [] }: Container): string[] {
  const written = new Map(env.map(({ name, value = '' }) => [name, value]));
  let room = MAX_EXPANDED;
  return command.map((text) => {
    const expanded = expandVariables(text, (name) => written.get(name), room);
    room -= expanded.length;
    return expanded;
  });
}

/** Throws while the pod has no address, as that says nothing about the container. */
function hostOf({ host = '' }: Pick<HttpGetAction, 'host'>, run: ProbeRun): string {
  const chosen = host === '' ? run.host : host;
  if (chosen === '') throw new Error('the pod has no address');
  return chosen;
}

/**
 * The number of a probe's port, given as a number or as the name of a container's port. Throws for an unknown
 * name. Pure.
 */
function resolvePort(port: number | string, container: Container): number {
  const named = container.ports?.find(({ name }) => name !== undefined && name === port)?.containerPort;
  const number = typeof port === 'number' ? port : (named ?? (/^\d+$/.test(port) ? Number(port) : undefined));
  if (number === undefined)
    throw new Error(`couldn't find port: ${JSON.stringify(port)} in ${container.name}`);
  if (number < 1 || number > 65_535) throw new Error(`invalid port number: ${number}`);
  return number;
}

/** Options of {@link probeByTcp}. */
interface TcpProbe {
  readonly clock: Clock;
  readonly address: DialAddress;
  readonly timeoutMs: number;
}

/** Opens a connection and closes it: success as soon as it is established. */
async function probeByTcp(probe: TcpProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  const { clock, address, timeoutMs } = probe;
  signal.throwIfAborted();
  const socket = connect(address);
  const onAbort = (): unknown => socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<ProbeOutcome>((resolve, reject) => {
      const deadline = startFairDeadline({
        clock,
        deadlineMs: timeoutMs,
        onExpired: () => resolve(silent(`dial tcp ${joinHostPort(address)}: i/o timeout`)),
      });
      socket.once('connect', () => resolve(succeeded('')));
      socket.on('error', (error) => {
        if (signal.aborted) reject(error);
        else resolve(outcomeOfSocketError(error, address, ''));
      });
      socket.once('close', () => deadline.cancel());
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
  }
}
