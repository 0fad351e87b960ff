import { Command } from 'commander';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { readSelection } from '../../shared/api/object-selection.js';
import { findPodOf } from '../../shared/pods/pods-of-object.js';
import { chooseContainer } from '../../shared/api/container-choice.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { connectCommand } from '../../shared/streaming/connect-command.js';
import { addStreamFlags, assertUnended, type StreamFlags } from '../../shared/streaming/stream-flags.js';
import { chooseStreams, runSession } from '../../shared/streaming/terminal-session.js';
import { wrapNotes } from '../../help-layout.js';

const HELP = `
Examples:
  # What a container prints from now on
  podloop attach web

  # Type into it
  podloop attach -it web -c shell`;

/** `podloop attach`: joins the process with what runs in a container already. */
export function attachCommand(host: CliHost): Command {
  const command = new Command('attach')
    .description('Attach to the main process of a container.')
    .argument('<pod...>', 'Name of the pod, as in "web" or "pod/web"');
  const meanings = {
    stdin: 'Hand standard input on to the container',
    tty: 'Standard input is a terminal',
    quiet: 'Print only what the container prints',
  };
  return addStreamFlags(command, meanings)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: StreamFlags) => {
      if (words.length > 2) {
        throw failure(
          `expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw ${words.length}: [${words.join(' ')}]`,
        );
      }
      await withAgent(host, flags, (session) => attach(readName(words), flags, session, host));
    });
}

function readName(words: readonly string[]): string {
  if (words.length === 1) return words[0]!;
  const { names } = readSelection(words, { hasSelector: false, allNamespaces: false }, 'attach');
  return `${names[0]!.type.plural}/${names[0]!.name}`;
}

async function attach(word: string, flags: StreamFlags, session: AgentSession, host: CliHost): Promise<void> {
  const { client, namespace, signal } = session;
  const say = (line: string): Promise<void> =>
    flags.quiet ? Promise.resolve() : host.stderr.writeLine(line);
  const pod = await findPodOf(word, session, say);
  assertUnended(pod, 'attach');
  const { name = word } = pod.metadata ?? {};
  const path = pathOf(PODS, namespace, name);
  const { container, notice } = chooseContainer(pod, flags.container);
  if (notice !== undefined) await say(notice);
  const containerName = container.name ?? '';
  const hasTty = container.tty === true;
  if (flags.tty && !hasTty) {
    await say(`error: Unable to use a TTY - container ${containerName} did not allocate one`);
  }
  const wished = await chooseStreams({ ...flags, tty: hasTty, quiet: flags.quiet || !flags.tty }, host);
  // A container with a terminal has one output for both, whether or not this side has one.
  const choice = { ...wished, tty: hasTty, stderr: !hasTty };
  await say(
    'All commands and output from this session will be recorded in container logs, including credentials and sensitive information passed through the command prompt.',
  );
  await say("If you don't see a command prompt, try pressing enter.");
  const query = { container: containerName };
  const connection = await connectCommand(client, { path: `${path}/attach`, query, choice });
  await runSession(connection, { host, choice: wished, signal, redraw: true });
  if (!flags.stdin || !wished.tty || flags.quiet) return;
  await host.stdout.writeLine(
    `Session ended, resume using 'podloop attach ${name} -c ${containerName} -n ${namespace} -i -t' command`,
  );
}
