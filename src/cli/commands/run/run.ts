import { Command, Option } from 'commander';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  Agent,
  type AgentEnd,
  type AgentOptions,
  findMissingManifests,
  type GivenAgentOptions,
  type KubeletConfig,
  readKubeletConfig,
} from '#node';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type LogSettings, parseVModule, type VModuleRule } from '#base/log/log-settings.js';
import { type Logger } from '#base/log/logger.js';
import { addAgentFlags, readAgentFlags, toHeading } from '../../shared/agent-flags.js';
import { type AgentScreen } from '../../shared/screen/agent-screen.js';
import { type CliHost } from '../../cli-host.js';
import { packageVersion } from '#base/package-version.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import {
  type ImageVerifierFlags,
  imageVerifierOptions,
  toRuntimeFlags,
} from '../../shared/image-verifier-flags.js';
import { createLog, verbosityOption } from '../../shared/log/log-output.js';
import { claimSharedFolder, SHARED_ROOT_DIR } from '../../shared/own-root-dir.js';
import { howToEnd } from '../../shared/agents/agent-places.js';
import { machineDefaults } from '../../shared/machine-defaults.js';
import { startPage, webOption } from '../../shared/page/start-page.js';
import { resolveRunOptions } from './run-options.js';
import { runForSystemd } from './run-for-systemd.js';
import { wrapNotes } from '../../help-layout.js';

interface RunFlags extends Readonly<Record<string, unknown>>, ImageVerifierFlags {
  readonly config?: string;
  readonly kubeconfig?: string;
  readonly imageDir?: readonly string[];
  readonly registryConfigPath?: string;
  readonly isolation: string;
  readonly network: string;
  readonly summary: boolean;
  readonly web: boolean;
  readonly rootDir?: string;
  readonly runtimeEndpoint?: string;
  readonly verbosity?: number;
  readonly loggingFormat?: LogSettings['format'];
  readonly vmodule?: readonly VModuleRule[];
}

const HELP = `
Put a Pod manifest into the folder and its pod runs. Change the manifest and the
pod changes; delete it and the pod stops. Ctrl-C and SIGTERM end the agent and
leave its pods running for the next agent with the same --root-dir; with
--stop-pods the agent stops them first.

Keys of --summary at a terminal: arrows or j k select a pod, Enter shows its
details, l logs, s a shell; / searches, ? lists all keys, q ends the agent.

Examples:
  # Keep the pods of a folder running, on the runtime that this machine has, else on the embedded one
  podloop run /etc/kubernetes/manifests

  # On the embedded runtime, with images from a folder
  podloop run ./pods --runtime-endpoint embedded --image-dir ./images

  # A batch: ends when every pod has, with 0 if all succeeded
  podloop run ./jobs --exit-when-done --stop-pods

  # As a node of a cluster
  podloop run --kubeconfig /etc/kubernetes/kubelet.conf --runtime-endpoint unix:///run/containerd/containerd.sock

  # With a kubelet's configuration
  podloop run --config /var/lib/kubelet/config.yaml`;

/** `podloop run`: the node agent. */
export function runCommand(host: CliHost): Command {
  const command = new Command('run')
    .description('Keep the pods of a folder of manifests running: the node agent.')
    .argument('[manifests]', 'Folder of Pod manifests, or one file; the same as --pod-manifest-path')
    .addOption(
      new Option(
        '--config <file>',
        'KubeletConfiguration file (kubelet.config.k8s.io/v1beta1); flags override it',
      ).helpGroup(toHeading('Common flags')),
    );
  addAgentFlags(command, { machine: machineDefaults(host.env) });
  for (const option of imageVerifierOptions(toHeading('Container runtime'))) command.addOption(option);
  return command
    .addOption(
      new Option(
        '--image-dir <folder>',
        'Folder of OCI image layouts for the embedded runtime; may be given several times',
      )
        .argParser((folder: string, folders: readonly string[] | undefined) => [...(folders ?? []), folder])
        .helpGroup(toHeading('Common flags')),
    )
    .addOption(
      new Option(
        '--registry-config-path <folders>',
        'Folders with mirrors and certificates of registries for the embedded runtime, in containerd’s layout, separated by colons (default: /etc/containerd/certs.d:/etc/docker/certs.d)',
      ).helpGroup(toHeading('Container runtime')),
    )
    .addOption(
      new Option('--isolation <kind>', 'How the embedded runtime isolates containers')
        .choices(['auto', 'namespaces', 'none'])
        .default('auto')
        .helpGroup(toHeading('Container runtime')),
    )
    .addOption(
      new Option('--network <kind>', 'Network of pods on the embedded runtime')
        .choices(['auto', 'bridge', 'host', 'none'])
        .default('auto')
        .helpGroup(toHeading('Container runtime')),
    )
    .addOption(
      new Option('--summary', 'Show pods and events on one screen if standard output is a terminal')
        .default(false)
        .helpGroup(toHeading('Logging and telemetry')),
    )
    .addOption(webOption().helpGroup(toHeading('Common flags')))
    .addOption(
      verbosityOption('Log level, as the kubelet’s -v; 4 is for debugging (default: 2)')
        .default(undefined)
        .helpGroup(toHeading('Common flags')),
    )
    .addOption(
      new Option(
        '--logging-format <format>',
        'Format of the log: klog’s text, or one JSON object per line, as with the kubelet (default: text)',
      )
        .choices(['text', 'json'])
        .helpGroup(toHeading('Logging and telemetry')),
    )
    .addOption(
      new Option(
        '--vmodule <rules>',
        'Log levels of single source files, as in pleg=4,sync-*=5; the names are those at the start of log lines, without extension',
      )
        .argParser((text) => parseVModule(text))
        .helpGroup(toHeading('Logging and telemetry')),
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (manifests: string | undefined, flags: RunFlags) => run(manifests, flags, host));
}

/** The level of kubelets that systemd starts. */
const USUAL_VERBOSITY = 2;

/** Each log setting comes from its flag, else from the file, else from the default. */
function openLog(
  flags: RunFlags,
  { logging = {} }: KubeletConfig,
  host: CliHost,
): ReturnType<typeof createLog> {
  const { verbosity = logging.verbosity ?? USUAL_VERBOSITY } = flags;
  const { loggingFormat: format = logging.format, vmodule = logging.vmodule } = flags;
  return createLog(host, { verbosity, ...(format && { format }), ...(vmodule && { vmodule }) });
}

async function run(manifests: string | undefined, flags: RunFlags, host: CliHost): Promise<void> {
  const { clock, stdin, selfCommand } = host;
  const told = openLog(flags, {}, host).logger;
  const config = flags.config === undefined ? {} : await readConfig(flags.config, told, flags.kubeconfig);
  const { logger, lines } = openLog(flags, config, host);
  const options = await resolveRunOptions(givenOptions(manifests, flags), config, host.env);
  if (options.podManifestPath === '' && options.manifestUrl === '' && options.kubeconfig === '') {
    throw new PodloopError(
      'OPTION_INVALID',
      'there is nothing to run: name a folder of manifests, as in "podloop run ./pods", a --manifest-url, or the --kubeconfig of a cluster',
    );
  }
  if (isAtTerminal(host) || options.exitWhenDone) {
    // A service waits for its folder, as the disk may be mounted later.
    const missing = await findMissingManifests(options);
    if (missing !== undefined) throw new PodloopError('OPTION_INVALID', missing);
  }
  if (!isRoot() && isBelow(SHARED_ROOT_DIR, options.rootDir)) await claimSharedFolder(SHARED_ROOT_DIR);
  const interrupted = host.listenForInterrupts();
  const { isolation, network, imageDir = [], registryConfigPath: registries } = flags;
  const images = imageDir.flatMap((folder) => ['--image-dir', resolve(folder)]);
  const configFolders = registries?.split(':').map((folder) => (folder === '' ? '' : resolve(folder)));
  const registry = configFolders === undefined ? [] : ['--registry-config-path', configFolders.join(':')];
  const { podCidr, kubeconfig } = options;
  const range = podCidr === '' || kubeconfig !== '' ? [] : ['--pod-cidr', podCidr];
  const verifiers = toRuntimeFlags(flags);
  const runtimeFlags = [
    ...['--isolation', isolation, '--network', network],
    ...[...range, ...images, ...registry, ...verifiers],
  ];
  let end: AgentEnd | undefined;
  let left: readonly string[] = [];
  try {
    using screen = await openScreen(flags, options, { host, logger, signal: interrupted });
    // Log lines on the same terminal would break the screen.
    const agentLogger = screen !== undefined && host.stderr.isTerminal ? screen.log : logger;
    await using agent = await Agent.start(
      options,
      {
        ...{ clock, logger: agentLogger, stdin, podloopCommand: selfCommand, runtimeFlags },
        environment: host.env,
        version: packageVersion(),
        log: lines,
      },
      interrupted,
    );
    const { name, version, url } = agent.runtime;
    agentLogger.info('Container runtime', { containerRuntime: name, version, endpoint: url });
    const say = screen === undefined ? {} : { say: (line: string) => agentLogger.info(line) };
    await using _page = flags.web
      ? startPage({ host, socketPath: agent.socket, logger: agentLogger, ...say })
      : undefined;
    const title = `podloop run   node ${agent.identity.name}   ${name} ${version}`;
    const showing = screen?.follow(agent, { title });
    const stopPrinting =
      screen === undefined ? host.onUserSignal(() => void printStatuses(agent, host)) : undefined;
    end = await runForSystemd(agent, host, agentLogger, interrupted);
    left = listUnfinished(agent);
    stopPrinting?.();
    await showing;
  } catch (error) {
    // An interrupt while the agent was starting is no failure.
    if (!interrupted.aborted || error !== interrupted.reason) throw error;
  }
  const { failures = [], pods = 'left as they are' } = end ?? {};
  logger.info('Ended', { pods });
  if (pods === 'left as they are' && left.length > 0 && isAtTerminal(host)) {
    for (const line of describeLeft(left, options, flags)) await host.stderr.writeLine(escapeTerminal(line));
  }
  if (failures.length > 0) throw new PodloopError('PODS_FAILED', describeFailures(failures));
  if (pods === 'not all stopped') {
    throw new PodloopError(
      'PODS_NOT_STOPPED',
      'not every pod could be stopped; the log names those that are left',
    );
  }
}

/** The pods that may have something running, as `namespace/name`. */
function listUnfinished(agent: Agent): string[] {
  const left = agent.statuses().filter(({ status: { phase }, isFinished }) => {
    return !isFinished && phase !== 'Succeeded' && phase !== 'Failed';
  });
  return left.map(({ pod }) => `${pod.namespace}/${pod.name}`).sort();
}

/** Which pods stay after the end of the agent, and what ends them. */
function describeLeft(
  left: readonly string[],
  { podManifestPath: folder, kubeconfig }: AgentOptions,
  { rootDir, runtimeEndpoint }: RunFlags,
): string[] {
  const shown = left.slice(0, MAX_NAMED_PODS);
  if (left.length > shown.length) shown.push(`and ${left.length - shown.length} more`);
  const first = `These pods stay (${left.length}): ${shown.join(', ')}`;
  if (kubeconfig !== '' || folder === '' || folder === '-') return [first];
  return [first, `To end them: ${howToEnd(folder, { rootDir, runtimeEndpoint })}`];
}

/** Prints one JSON object per line: each pod with its status, then each problem of a manifest. */
async function printStatuses(agent: Agent, { stdout }: CliHost): Promise<void> {
  for (const { pod, status } of agent.statuses()) {
    const { namespace, name, uid } = pod;
    const metadata = { namespace, name, uid };
    await stdout.writeLine(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, status }));
  }
  for (const problem of agent.manifestProblems()) await stdout.writeLine(JSON.stringify({ problem }));
}

const MAX_FAILURES = 10;
const MAX_NAMED_PODS = 10;

function describeFailures(failures: readonly string[]): string {
  const shown = failures.slice(0, MAX_FAILURES);
  if (failures.length > shown.length) shown.push(`and ${failures.length - shown.length} more`);
  return `not every pod has succeeded: ${shown.join('; ')}`;
}

/** The screen is loaded only where there is one: an agent that runs for months needs none of it. */
async function openScreen(
  { summary }: RunFlags,
  { podManifestPath, stopPods }: AgentOptions,
  { host, logger, signal }: { readonly host: CliHost; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<AgentScreen | undefined> {
  const { terminal } = host;
  if (!summary || terminal === undefined) return undefined;
  const screens = await import('../../shared/screen/agent-screen.js');
  return new screens.AgentScreen({
    ...{ host, terminal, logger, signal, title: 'podloop run   starting …' },
    quitHelp: `end the agent; ${stopPods ? 'its pods are stopped first' : 'its pods go on running'}`,
    // Manifests come from there.
    readsKeys: podManifestPath !== '-',
  });
}

function isAtTerminal({ stderr, terminal }: CliHost): boolean {
  return stderr.isTerminal || terminal !== undefined;
}

function isBelow(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function givenOptions(manifests: string | undefined, flags: RunFlags): GivenAgentOptions {
  const given = readAgentFlags(flags);
  if (manifests === undefined) return given;
  if (given.podManifestPath === undefined) return { ...given, podManifestPath: manifests };
  throw new PodloopError('OPTION_INVALID', `manifests are named twice: ${manifests} and --pod-manifest-path`);
}

async function readConfig(path: string, logger: Logger, kubeconfig = ''): Promise<KubeletConfig> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new PodloopError('CONFIG_INVALID', `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  const { config, warnings } = readKubeletConfig(text, resolve(path), kubeconfig !== '');
  for (const warning of warnings) logger.warn(warning);
  return config;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
