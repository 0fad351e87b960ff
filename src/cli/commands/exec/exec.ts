import { Command } from 'commander';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { findPodOf } from '../../shared/pods/pods-of-object.js';
import { chooseContainer } from '../../shared/api/container-choice.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { failure, usageFailure } from '../../command-failure.js';
import { connectCommand } from '../../shared/streaming/connect-command.js';
import {
  addStreamFlags,
  assertUnended,
  splitAtDashes,
  type StreamFlags,
} from '../../shared/streaming/stream-flags.js';
import { chooseStreams, runSession } from '../../shared/streaming/terminal-session.js';
import { wrapNotes } from '../../help-layout.js';

const HELP = `
The exit code is the command's.

Examples:
  # A shell
  podloop exec -it web -- sh

  # What a command prints
  podloop exec web -c server -- date

  # With input
  podloop exec -i web -- tar xf - -C /data < files.tar`;

/** `podloop exec`: runs a command in a container of a running agent's pods. */
export function execCommand(host: CliHost): Command {
  const command = new Command('exec')
    .usage('[options] <pod> -- <command> [args...]')
    .description('Run a command in a container.')
    .argument('[words...]', 'Name of the pod, as in "web" or "pod/web", and behind -- the command');
  const meanings = {
    stdin: 'Hand standard input on to the command',
    tty: 'Give the command a terminal',
    quiet: 'Print only what the command prints',
  };
  return addStreamFlags(command, meanings)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: StreamFlags, self: Command) => {
      const { before, after } = splitAtDashes(words, self);
      const [pod, ...rest] = before;
      if (rest.length > 0) {
        throw usageFailure(
          'exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead',
          'exec',
        );
      }
      if (pod === undefined) throw failure('pod, type/name or --filename must be specified');
      if (after === undefined || after.length === 0) {
        throw failure('you must specify at least one command for the container');
      }
      await withAgent(host, flags, (session) => exec(pod, after, flags, session, host));
    });
}

async function exec(
  word: string,
  command: readonly string[],
  flags: StreamFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { client, namespace, signal } = session;
  const say = (line: string): Promise<void> =>
    flags.quiet ? Promise.resolve() : host.stderr.writeLine(line);
  const pod = await findPodOf(word, session, say);
  assertUnended(pod, 'exec into');
  const path = pathOf(PODS, namespace, pod.metadata?.name ?? word);
  const { container, notice } = chooseContainer(pod, flags.container);
  if (notice !== undefined) await say(notice);
  const choice = await chooseStreams(flags, host);
  const query = { command, container: container.name };
  const connection = await connectCommand(client, { path: `${path}/exec`, query, choice });
  await runSession(connection, { host, choice, signal });
}
