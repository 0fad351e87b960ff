import { Command, Option } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { packageVersion } from '#base/package-version.js';
import { type AgentSession, socketOption, stripEquals, withAgent } from '../../shared/agent-session.js';
import { AgentAbsent } from '../../shared/api/agent-client.js';
import { toJsonText, toYamlText } from '../../shared/print/object-text.js';
import { wrapNotes } from '../../help-layout.js';

interface VersionFlags {
  readonly socket?: string;
  readonly client: boolean;
  readonly output?: string;
}

interface ClientVersion {
  /** podloop's. */
  readonly gitVersion: string;
  readonly nodeVersion: string;
  /** As in `linux/x64`. */
  readonly platform: string;
}

const HELP = `
Examples:
  # Of this program and of the agent that runs on this machine
  podloop version

  # Of this program alone, for a script
  podloop version --client -o json`;

/** `podloop version`: the versions of the program and of a running agent, as kubectl shows them. */
export function versionCommand(host: CliHost): Command {
  return new Command('version')
    .description('Show the versions of this program and of the running agent.')
    .addOption(socketOption())
    .option('--client', 'Do not ask an agent', false)
    .addOption(new Option('-o, --output <format>', 'json or yaml').argParser(stripEquals))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: VersionFlags) => showVersion(flags, host));
}

async function showVersion(flags: VersionFlags, host: CliHost): Promise<void> {
  const { output } = flags;
  if (output !== undefined && output !== 'json' && output !== 'yaml')
    throw failure(`--output must be 'yaml' or 'json', not ${JSON.stringify(output)}`);
  const clientVersion: ClientVersion = {
    gitVersion: `v${packageVersion()}`,
    nodeVersion: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
  if (flags.client) return print({ clientVersion }, output, host);
  await withAgent(host, flags, async (session) => {
    try {
      const serverVersion = await askVersion(session);
      await print({ clientVersion, serverVersion }, output, host);
    } catch (error) {
      if (!(error instanceof AgentAbsent)) throw error;
      await print({ clientVersion }, output, host);
      // That no agent runs is no failure of a command that is asked for a version.
      await host.stderr.writeLine(`No agent answers at ${session.client.socketPath}`);
    }
  });
}

async function askVersion({ client }: AgentSession): Promise<{ readonly gitVersion: string }> {
  const { gitVersion = '' } = (await client.get('/version')) as KubeObject & { gitVersion?: string };
  return { gitVersion: gitVersion.replace(/^podloop /, '') };
}

async function print(
  versions: {
    readonly clientVersion: ClientVersion;
    readonly serverVersion?: { readonly gitVersion: string };
  },
  output: 'json' | 'yaml' | undefined,
  { stdout }: CliHost,
): Promise<void> {
  if (output !== undefined) {
    const text = output === 'json' ? toJsonText(versions as KubeObject) : toYamlText(versions as KubeObject);
    return stdout.writeLine(text.replace(/\n$/, ''));
  }
  const { clientVersion, serverVersion } = versions;
  await stdout.writeLine(`Client Version: ${clientVersion.gitVersion}`);
  await stdout.writeLine(`Node.js Version: ${clientVersion.nodeVersion}`);
  if (serverVersion !== undefined) await stdout.writeLine(`Server Version: ${serverVersion.gitVersion}`);
}
