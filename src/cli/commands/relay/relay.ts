import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { getRuntime } from '#node';
import { ReadingProxy } from '#proxy/reading';
import { untilAborted } from '#base/async/until-aborted.js';
import { PodloopError } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { createLogger, verbosityOption } from '../../shared/log/log-output.js';
import { RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';
import { wrapNotes } from '../../help-layout.js';

interface RelayFlags {
  readonly listen: string;
  readonly runtimeEndpoint?: string;
  readonly group?: string;
  readonly events: boolean;
  readonly verbosity: number;
}

const HELP = `
Write access to a runtime's socket is root access to its node: whoever may write to it can start any container. This one lets calls that read
through, and refuses every other one, so that a program can see the pods of a node and nothing more. Ctrl-C ends it.

Examples:
  # For programs of the group "monitoring", beside containerd
  podloop relay --listen unix:///run/podloop-relay/cri.sock --runtime-endpoint unix:///run/containerd/containerd.sock \\
    --group monitoring

  # What a program sees through it
  podloop watch --runtime-endpoint unix:///run/podloop-relay/cri.sock`;

/** `podloop relay`: a socket of a runtime that can only be read. */
export function relayCommand(host: CliHost): Command {
  return new Command('relay')
    .description('Serve a socket of a container runtime that lets only calls through that read.')
    .requiredOption('--listen <endpoint>', 'unix:///path to listen at')
    .option('--runtime-endpoint <endpoint>', RUNTIME_ENDPOINT_HELP)
    .option(
      '--group <name>',
      'Group, by name or number, whose members may open it (default: its owner alone)',
    )
    .option('--events', 'Let events be read, too; containerd 1.7 takes them from the kubelet', false)
    .addOption(verbosityOption('1 logs each call that is refused, 4 is for debugging'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: RelayFlags) => relay(flags, host));
}

async function relay(flags: RelayFlags, host: CliHost): Promise<void> {
  const logger = createLogger(host, flags.verbosity);
  const signal = host.listenForInterrupts();
  const gid = flags.group === undefined ? undefined : await findGroup(flags.group);
  const upstream = await getRuntime(await chooseRuntimeEndpoint(flags.runtimeEndpoint, host, signal));
  await using proxy = await ReadingProxy.start({
    ...{ upstream, listen: flags.listen, allowsEvents: flags.events },
    ...(gid === undefined ? {} : { gid }),
    onRefused: (method, why) => logger.info('Call refused', { method, why }, 1),
  });
  const { endpoint } = proxy;
  logger.info('Listening', {
    endpoint,
    upstream,
    events: flags.events,
    ...(gid === undefined ? {} : { gid }),
  });
  await untilAborted(signal);
  logger.info('Ended', { refused: proxy.refused });
}

/** The number of a group of this machine. */
async function findGroup(name: string): Promise<number> {
  if (/^\d{1,9}$/.test(name)) return Number(name);
  const lines = (await readFile('/etc/group', 'utf8')).split('\n');
  const [, , number] = lines.map((line) => line.split(':')).find(([each]) => each === name) ?? [];
  if (number !== undefined && /^\d+$/.test(number)) return Number(number);
  throw new PodloopError(
    'OPTION_INVALID',
    `--group: there is no group ${JSON.stringify(name)} in /etc/group`,
  );
}
