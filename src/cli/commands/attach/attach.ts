import { Command } from 'commander';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { readSelection } from '../../shared/api/object-selection.js';
import { findPodOf } from '../../shared/pods/pods-of-object.js';
import { chooseContainer } from '../../shared/api/container-choice.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { attachSession } from '../../shared/streaming/attach-session.js';
import { addStreamFlags, assertUnended, type StreamFlags } from '../../shared/streaming/stream-flags.js';
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
  const say = (line: string): Promise<void> =>
    flags.quiet ? Promise.resolve() : host.stderr.writeLine(line);
  const pod = await findPodOf(word, session, say);
  assertUnended(pod, 'attach');
  const { name: podName = word } = pod.metadata ?? {};
  const { container, notice } = chooseContainer(pod, flags.container);
  if (notice !== undefined) await say(notice);
  const { name = '', tty = false } = container;
  if (flags.tty && !tty) {
    await say(`error: Unable to use a TTY - container ${name} did not allocate one`);
  }
  await attachSession({ podName, name, tty }, flags, session, host);
}
