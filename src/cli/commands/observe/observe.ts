import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { getRuntime, resolveAgentOptions, resolveNodeName, SOCKET_NAME } from '#node';
import { NodeObserver, type ObserveOptions } from '#observe';
import { PodloopError } from '#base/errors/errors.js';
import { addAgentFlags, readAgentFlags } from '../../shared/agent-flags.js';
import { type CliHost } from '../../cli-host.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { createLog, verbosityOption } from '../../shared/log/log-output.js';
import { machineDefaults } from '../../shared/machine-defaults.js';
import { packageVersion } from '#base/package-version.js';
import {
  addKubeletFlags,
  KUBELET_URLS,
  type KubeletFlags,
  readCredentials,
} from '../../shared/kubelet-flags.js';
import { kubeletsEndpointOption, RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';
import { startPage, webOption } from '../../shared/page/start-page.js';
import { wrapNotes } from '../../help-layout.js';
import { type BindAddress, parseBindAddress } from './bind-address.js';

interface ObserveFlags extends KubeletFlags, Readonly<Record<string, unknown>> {
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly metricsBindAddress: BindAddress | undefined;
  readonly kubeconfig?: string;
  readonly nodeCondition?: string;
  readonly verbosity: number;
  readonly web: boolean;
}

const HELP = `
It only reads: no call that could change a pod, and none that waits for a shim, is ever sent. It lists the
pods each second, one list at a time, and less often when the answers get slow. On containerd it also hears
containerd’s own events, which takes none from a kubelet, and lists every ten seconds unless one was missed.
It waits for a runtime that is not there. Ctrl-C and SIGTERM end it.

It examines the node with the rules of "podloop doctor": every two minutes, less often on a node with very
many pods, and at once when something seems wrong. What they find is in the history, the metrics and the log.
Findings make an incident, which has the calls and measurements from some minutes before it until three
minutes after it: see "podloop incidents".

With --kubeconfig each finding is an Event of the Node as well, so that "kubectl describe node" shows it.

While it runs, "podloop events", "top", "get pods", "logs" and "doctor" work with its socket. After it has
ended, "podloop events" reads the history in its root folder.

Examples:
  # Beside the kubelet of this node
  podloop observe --runtime-endpoint unix:///run/containerd/containerd.sock

  # What happened to a pod since yesterday
  podloop events --pod web --since 24h

  # Beside podloop’s own agent, which has the default root folder
  podloop observe --root-dir /var/lib/podloop-observe

  # In a pod of a DaemonSet, with what it finds in Events and in a condition of the Node
  podloop observe --kubeconfig in-cluster --node-condition PodloopProblem`;

const DEFAULT_METRICS_ADDRESS = '127.0.0.1:10247';

/** `podloop observe`: watches a node until it is ended. */
export function observeCommand(host: CliHost): Command {
  const command = new Command('observe')
    .description('Watch a node for good, beside any kubelet: history, metrics and a socket; changes nothing.')
    .option('--runtime-endpoint <endpoint>', RUNTIME_ENDPOINT_HELP)
    .addOption(kubeletsEndpointOption());
  addAgentFlags(command, {
    only: ['rootDir', 'socket', 'podLogsDir', 'nodeName', 'journalMaxSizeBytes', 'journalMaxAgeMs'],
    machine: machineDefaults(host.env),
  });
  command
    .addOption(
      new Option('--metrics-bind-address <address>', 'Where to serve /metrics and /healthz; 0 for nowhere')
        .argParser(parseBindAddress)
        .default(parseBindAddress(DEFAULT_METRICS_ADDRESS), DEFAULT_METRICS_ADDRESS),
    )
    .addOption(webOption())
    .addOption(verbosityOption('Log level, as the kubelet’s -v; 4 is for debugging').default(2))
    .optionsGroup('Cluster:')
    .option(
      '--kubeconfig <file>',
      'Report findings as Events of the Node with this kubeconfig; "in-cluster" is the service account of the pod',
    )
    .option(
      '--node-condition <type>',
      'Report critical findings in a condition of the Node of this type, too; needs --kubeconfig',
    )
    .optionsGroup('Kubelet:');
  return addKubeletFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: ObserveFlags) => observe(flags, host));
}

async function observe(flags: ObserveFlags, host: CliHost): Promise<void> {
  const { clock, env } = host;
  const { logger, lines } = createLog(host, flags);
  const interrupted = host.listenForInterrupts();
  try {
    const endpoint = flags.runtimeEndpoint ?? flags.containerRuntimeEndpoint;
    const runtimeEndpoint = await getRuntime(await chooseRuntimeEndpoint(endpoint, host, interrupted));
    const ports = { clock, logger, log: lines, version: packageVersion() };
    const options = toOptions(flags, runtimeEndpoint, env);
    await using observer = await NodeObserver.start(options, ports, interrupted);
    const { socket, rootDir } = options;
    const socketPath = resolve(socket === '' ? join(rootDir, SOCKET_NAME) : socket);
    await using _page = flags.web ? startPage({ host, socketPath, logger }) : undefined;
    await observer.run(interrupted);
  } catch (error) {
    if (!interrupted.aborted || error !== interrupted.reason) throw error;
  }
  logger.info('Ended');
}

/** Undefined where findings are reported to no cluster. */
function toReport(
  { kubeconfig, nodeCondition }: ObserveFlags,
  env: CliHost['env'],
): ObserveOptions['report'] {
  if (kubeconfig !== undefined) return { kubeconfig, condition: nodeCondition, environment: env };
  if (nodeCondition === undefined) return undefined;
  throw new PodloopError(
    'OPTION_INVALID',
    '--node-condition: needs --kubeconfig, too, to reach the API server',
  );
}

function toOptions(flags: ObserveFlags, runtimeEndpoint: string, env: CliHost['env']): ObserveOptions {
  const given = resolveAgentOptions(readAgentFlags(flags), {}, machineDefaults(env));
  const { rootDir, socket, podLogsDir, nodeName, journalMaxSizeBytes, journalMaxAgeMs } = given;
  return {
    ...{ runtimeEndpoint, rootDir, socket, podLogsDir, journalMaxSizeBytes, journalMaxAgeMs },
    nodeName: resolveNodeName(nodeName === '' ? undefined : nodeName),
    report: toReport(flags, env),
    ...{ metricsAddress: flags.metricsBindAddress, healthzUrl: flags.healthzUrl, hostRoot: flags.hostRoot },
    readKubelet: async () => ({
      ...{ urls: flags.kubeletUrl ?? KUBELET_URLS, healthzUrl: flags.healthzUrl },
      credentials: await readCredentials(flags),
    }),
  };
}
