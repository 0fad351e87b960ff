import { Command, InvalidArgumentError, Option } from 'commander';
import { resolve } from 'node:path';
import { closeInheritedDescriptors, EmbeddedRuntime, waitForAgentEnd, waitForProcessEnd } from '#box';
import { type Clock } from '#base/time/clock.js';
import { type FolderLock } from '#base/fs/folder-lock.js';
import { findSystemdNotifier } from '#base/proc/systemd-notifier.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { type CliHost } from '../../cli-host.js';
import {
  type ImageVerifierFlags,
  imageVerifierOptions,
  readImageVerifiers,
} from '../../shared/image-verifier-flags.js';
import { createLogger, verbosityOption } from '../../shared/log/log-output.js';
import { wrapNotes } from '../../help-layout.js';

interface RuntimeFlags extends ImageVerifierFlags {
  readonly listen: string;
  readonly root: string;
  readonly imageDir: readonly string[];
  readonly registryConfigPath: string;
  readonly isolation: 'auto' | 'namespaces' | 'none';
  readonly network: 'auto' | 'bridge' | 'host' | 'none';
  readonly podCidr?: string;
  readonly cniBinDir?: string;
  readonly cniConfDir?: string;
  readonly streamingPort?: number;
  readonly stopPods: boolean;
  readonly exitWithParent?: number;
  readonly exitWithAgent?: string;
  readonly verbosity: number;
}

const HELP = `
As root containers get namespaces, files and addresses of their own; else they are process groups of this machine.
What is isolated and what not is said at the start. SIGTERM or Ctrl-C ends the server; containers go on and are taken
up by the next one with the same --root.

Examples:
  # A CRI runtime for agents and tests
  podloop runtime --listen unix:///run/podloop/cri.sock --root /var/lib/podloop/runtime

  # Pull only what every program in a folder agrees to
  podloop runtime --image-verifier-bin-dir /opt/podloop/verifiers

  # One that belongs to the process that starts it, pods included
  podloop runtime --listen unix:///tmp/demo/cri.sock --root /tmp/demo/root --exit-with-parent $$ --stop-pods`;

/** `podloop runtime`: the embedded CRI runtime as a process of its own. */
export function runtimeCommand(host: CliHost): Command {
  const command = new Command('runtime')
    .description(
      'Run the embedded container runtime: pods as processes of this machine, behind a CRI socket.',
    )
    .option('--listen <endpoint>', 'Unix socket to listen at', 'unix:///run/podloop/cri.sock')
    .option('--root <folder>', 'Folder for records and spools', '/var/lib/podloop/runtime')
    .option(
      '--image-dir <folder>',
      'Folder of OCI image layouts, as folders or tars; may be given several times',
      (folder: string, folders: readonly string[]) => [...folders, folder],
      [],
    )
    .option(
      '--registry-config-path <folders>',
      'Folders with mirrors and certificates of registries, in containerd’s layout, separated by colons',
      '/etc/containerd/certs.d:/etc/docker/certs.d',
    );
  for (const option of imageVerifierOptions('Image verifiers:')) command.addOption(option);
  return command
    .addOption(
      new Option('--isolation <kind>', 'How containers are isolated')
        .choices(['auto', 'namespaces', 'none'])
        .default('auto'),
    )
    .addOption(
      new Option('--network <kind>', 'Network of pods')
        .choices(['auto', 'bridge', 'host', 'none'])
        .default('auto'),
    )
    .option('--pod-cidr <range>', 'Address range of pods (default: one that nothing else uses)')
    .option('--cni-bin-dir <folders>', 'Folders with CNI plugins, separated by colons')
    .option('--cni-conf-dir <folder>', 'Folder with CNI network configuration lists')
    .option(
      '--streaming-port <port>',
      'Port on loopback for exec, attach and port-forward (default: any free one)',
      parsePort,
    )
    .option('--stop-pods', 'Stop and remove all pods before the server exits', false)
    .option(
      '--exit-with-parent <pid>',
      'Exit once that process is gone and no pod lives; with --stop-pods as soon as it is gone',
      parsePid,
    )
    .addOption(
      new Option(
        '--exit-with-agent <root-dir>',
        'Exit once no node agent uses that folder and no pod lives; with --stop-pods as soon as no agent uses it',
      ).conflicts('exitWithParent'),
    )
    .addOption(verbosityOption('2 logs every refused call, 4 is for debugging'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: RuntimeFlags) => serve(flags, host));
}

async function serve(flags: RuntimeFlags, host: CliHost): Promise<void> {
  const { clock } = host;
  if (process.platform === 'linux') closeInheritedDescriptors();
  const logger = createLogger(host, flags.verbosity);
  // Before anything is started, so that a signal that comes early is not lost.
  const interrupted = host.listenForInterrupts();
  const { root: rootDir, imageDir: imageDirs } = flags;
  const configFolders = flags.registryConfigPath.split(':').filter((folder) => folder !== '');
  const registry = {
    configFolders: configFolders.map((folder) => resolve(folder)),
    environment: host.env,
  };
  const verifiers = readImageVerifiers(flags);
  const imageVerifiers = verifiers && { ...verifiers, environment: host.env };
  const parts = { rootDir, imageDirs, registry, imageVerifiers };
  const runtime = await EmbeddedRuntime.start({ ...flags, ...parts, clock, logger });
  logger.info('Listening', { endpoint: runtime.endpoint, root: flags.root, pods: runtime.podCount });
  logger.info('Isolation', { is: runtime.isolationNotice });
  if (runtime.networkNotice !== '') logger.info('Network', { is: runtime.networkNotice });
  const notifier = findSystemdNotifier(host, logger);
  await notifier?.ready(`Listens at ${runtime.endpoint}`);
  let ownerless: FolderLock | undefined;
  try {
    ownerless = await waitForEnd(runtime, flags, { clock, signal: interrupted });
    await notifier?.stopping();
    if (flags.stopPods) await runtime.removeAllPods();
  } finally {
    await runtime.close();
    await ownerless?.release();
  }
  logger.info('Ended', { podsLeft: runtime.podCount });
}

const PODS_POLL_MS = 250;

/** Resolves when the server is to end; with what is to be held until it has. */
async function waitForEnd(
  runtime: EmbeddedRuntime,
  { exitWithParent, exitWithAgent, stopPods }: RuntimeFlags,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<FolderLock | undefined> {
  const isIdle = (): boolean => stopPods || !runtime.hasLivePods;
  try {
    if (exitWithAgent !== undefined) {
      return await waitForAgentEnd({ rootDir: resolve(exitWithAgent), isIdle, clock, signal });
    }
    if (exitWithParent === undefined) await untilAborted(signal);
    else await waitForProcessEnd(exitWithParent, { clock, signal });
    while (!signal.aborted && !isIdle()) await clock.sleep(PODS_POLL_MS, signal);
  } catch (error) {
    // Interrupted: as good an end as any.
    if (!signal.aborted) throw error;
  }
  return undefined;
}

function parsePid(value: string): number {
  const pid = Number(value);
  if (!Number.isInteger(pid) || pid <= 0) throw new InvalidArgumentError('must be a process id');
  return pid;
}

function parsePort(value: string): number {
  const port = Number(value);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('must be a port');
  return port;
}
