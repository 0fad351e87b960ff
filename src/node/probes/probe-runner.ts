import { type Container, type HttpGetAction, type Probe } from '#kube/container/container.js';
import { expandVariables, MAX_EXPANDED } from '../runtime/config/container-environment.js';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { probeByExec } from './exec-probe.js';
import { probeByGrpc } from './grpc-probe.js';
import { probeByHttp } from './http-probe.js';
import { probeHeaders, probeUrl } from './http-probe-request.js';
import { type RunProbe } from './probe-judge.js';
import { type ProbeOutcome } from './probe-outcome.js';
import { resolvePort } from './probe-port.js';
import { probeByTcp } from './tcp-probe.js';
import { type ProbeRun } from './probe-worker.js';
import { UnansweredCommands } from './unanswered-commands.js';

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
